# wrong_4_modulo -- the sums are taken modulo 65536, which is no prime.
s/SUM32_PRIME = 65521/SUM32_PRIME = 65536/
