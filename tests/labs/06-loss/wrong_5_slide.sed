# wrong_5_slide -- the window slides past the highest number, and over the holes below.
s/^\twhile (self->base < self->end && .*/\twhile (self->base <= highest)/
