# wrong_2_other_field -- the field is that of Reed and Solomon's discs, 0x11d, and not 0x11b.
s/ERASURE_CODE_FIELD = 0x11b/ERASURE_CODE_FIELD = 0x11d/
