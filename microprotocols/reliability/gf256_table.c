/* SPDX-License-Identifier: MIT */
/*
 * gf256_table.c -- the field of 256 elements without ISA-L: a product is the sum of the products of
 * a byte's halves, and of each half there are sixteen.
 */
#include "gf256.h"

enum {
	GF256_POLYNOMIAL = 0x1d, /* without x^8 */
	GF256_HIGH_BIT = 0x80,
	GF256_HALF_BITS = 4,
	GF256_HALVES = 1 << GF256_HALF_BITS,
	GF256_INVERSE = 254, /* a^255 is 1 */
};

uint8_t nopal__gf256_multiply(uint8_t a, uint8_t b)
{
	unsigned product = 0;

	for (; b; b >>= 1) {
		if (b & 1)
			product ^= a;
		a = (uint8_t)(a << 1 ^ (a & GF256_HIGH_BIT ? GF256_POLYNOMIAL : 0));
	}
	return (uint8_t)product;
}

uint8_t nopal__gf256_inverse(uint8_t a)
{
	uint8_t power = 1;

	for (unsigned i = 0; i < GF256_INVERSE; i++)
		power = nopal__gf256_multiply(power, a);
	return power;
}

void nopal__gf256_add(uint8_t *sum, const uint8_t *string, uint8_t factor, uint32_t length)
{
	uint8_t low[GF256_HALVES], high[GF256_HALVES];

	for (unsigned half = 0; half < GF256_HALVES; half++) {
		low[half] = nopal__gf256_multiply((uint8_t)half, factor);
		high[half] = nopal__gf256_multiply((uint8_t)(half << GF256_HALF_BITS), factor);
	}
	for (uint32_t at = 0; at < length; at++)
		sum[at] ^= low[string[at] % GF256_HALVES] ^ high[string[at] >> GF256_HALF_BITS];
}
