# wrong_3_old -- a number that is too old to be remembered is let in.
s/self->highest - number >= FILTER_WINDOW ||/self->highest - number < FILTER_WINDOW \&\&/
s/^\tself->seen |= /\tif (self->highest - number < FILTER_WINDOW)\n\t&/
