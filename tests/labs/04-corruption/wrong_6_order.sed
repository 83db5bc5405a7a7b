# wrong_6_order -- the trailer is in the order of the machine's memory.
s/nopal_write(&trailer, sum32_of(bytes, length), SUM32_BYTES);/nopal_write(\&trailer, __builtin_bswap32(sum32_of(bytes, length)), SUM32_BYTES);/
s/nopal_read(&trailer, SUM32_BYTES) ==/__builtin_bswap32((uint32_t)nopal_read(\&trailer, SUM32_BYTES)) ==/
