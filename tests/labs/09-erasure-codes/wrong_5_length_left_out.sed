# wrong_5_length_left_out -- the length of a segment is not coded over: a shorter one comes back long.
s/^	symbol\[0\] = (uint8_t)(bytes >> 8);/	symbol[0] = (uint8_t)((ERASURE_CODE_ROOM - ERASURE_CODE_LENGTH) >> 8);/
s/^	symbol\[1\] = (uint8_t)bytes;/	symbol[1] = (uint8_t)(ERASURE_CODE_ROOM - ERASURE_CODE_LENGTH);/
