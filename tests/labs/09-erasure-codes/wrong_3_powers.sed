# wrong_3_powers -- the coefficients are powers, (column + 1)^row: some losses have no solution.
/return erasure_code_multiply((uint8_t)(k ^ column),/{
N
s/.*/	uint8_t power = (uint8_t)(k ? 1 : 0);\n\n	while (row--)\n		power = erasure_code_multiply(power, (uint8_t)(column + 1));\n	return power;/
}
s/factor = erasure_code_inverse(matrix\[pivot\]\[pivot\]) ^ 1;/if (!matrix[pivot][pivot])\n		return;\n	&/
