# wrong_1_shift -- a jump of 32 numbers or more shifts by more bits than there are.
s/self->seen = ahead < FILTER_WINDOW ? self->seen << ahead : 0;/self->seen <<= ahead % 64 % FILTER_WINDOW;/
