# wrong_2_one -- the first sum begins with 1, as Adler's does, and not with the length.
s/uint32_t first = .*, second = 0/uint32_t first = 1, second = 0/
