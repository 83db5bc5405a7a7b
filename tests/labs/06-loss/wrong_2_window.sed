# wrong_2_window -- the window counts one segment too many.
s/ARQ_NUMBER) < self->base + (uint64_t)set->window/ARQ_NUMBER) <= self->base + (uint64_t)set->window/
