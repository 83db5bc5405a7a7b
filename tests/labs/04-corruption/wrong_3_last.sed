# wrong_3_last -- the last byte is left out.
s/i < length/i + 1 < length/
