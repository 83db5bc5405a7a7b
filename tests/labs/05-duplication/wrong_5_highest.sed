# wrong_5_highest -- all that is not above the highest is dropped: no overtaken segment comes in.
/} else if (self->highest - number >= FILTER_WINDOW/d
s/self->seen >> (self->highest - number) & 1) {/} else {/
