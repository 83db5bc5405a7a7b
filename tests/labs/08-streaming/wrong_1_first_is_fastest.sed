# wrong_1_first_is_fastest -- the transit of the first message counts, and no faster one after it.
s/if (!self->begun || .*/if (!self->begun)/
