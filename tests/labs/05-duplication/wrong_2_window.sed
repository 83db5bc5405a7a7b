# wrong_2_window -- the window has 31 numbers: the oldest one is taken for too old.
s/self->highest - number >= FILTER_WINDOW/self->highest - number >= FILTER_WINDOW - 1/
