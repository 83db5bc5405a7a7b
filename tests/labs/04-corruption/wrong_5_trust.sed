# wrong_5_trust -- the sums are written, and never compared.
s/return nopal_read(&trailer, SUM32_BYTES) == sum32_of(bytes, length);/return nopal_read_left(\&trailer) == SUM32_BYTES;/
