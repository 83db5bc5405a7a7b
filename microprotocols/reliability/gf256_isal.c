/* SPDX-License-Identifier: MIT */
/*
 * gf256_isal.c -- the field of 256 elements with ISA-L.
 */
#include <isa-l/erasure_code.h>

#include "../isal.h"
#include "gf256.h"

enum { GF256_TABLE_BYTES = 32 }; /* of one factor, see gf_vect_mul_init() */

uint8_t nopal__gf256_multiply(uint8_t a, uint8_t b)
{
	return gf_mul(a, b);
}

uint8_t nopal__gf256_inverse(uint8_t a)
{
	return gf_inv(a);
}

void nopal__gf256_add(uint8_t *sum, const uint8_t *string, uint8_t factor, uint32_t length)
{
	uint8_t table[GF256_TABLE_BYTES];

	gf_vect_mul_init(factor, table);
	ec_encode_data_update((int)length, 1, 1, 0, table, (uint8_t *)(uintptr_t)string, &sum);
	nopal__isal_done();
}
