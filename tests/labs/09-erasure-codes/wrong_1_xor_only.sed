# wrong_1_xor_only -- every parity is the sum of the sources: part 1 alone.
s/return erasure_code_multiply((uint8_t)(k ^ column),/return (uint8_t)(row + 1) ? 1 : erasure_code_multiply((uint8_t)(k ^ column),/
s/factor = erasure_code_inverse(matrix\[pivot\]\[pivot\]) ^ 1;/if (!matrix[pivot][pivot])\n\t\treturn;\n\t&/
