# wrong_4_bit -- bit 0 stands for the highest number itself.
s/nopal_write(&writer, self->holes, 4)/nopal_write(\&writer, (uint64_t)self->holes << 1, 4)/
s/holes >> (highest - 1 - number) & 1/holes >> (highest - number) \& 1/
