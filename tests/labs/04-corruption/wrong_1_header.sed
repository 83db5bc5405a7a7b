# wrong_1_header -- the sums go over the header alone.
s/^\tuint32_t first = /\tsize_t covered = length < 13 ? length : 13;\n&/
s/i < length/i < covered/
