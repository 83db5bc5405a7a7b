/* SPDX-License-Identifier: MIT */
/*
 * gf256.h -- the field of 256 elements, by x^8 + x^4 + x^3 + x^2 + 1, and strings of its elements.
 * gf256_isal.c or gf256_table.c.
 */
#ifndef NOPAL_GF256_H
#define NOPAL_GF256_H

#include <stdint.h>

uint8_t nopal__gf256_multiply(uint8_t a, uint8_t b);
uint8_t nopal__gf256_inverse(uint8_t a); /* a not 0 */
/* sum += factor * string; they do not overlap. */
void nopal__gf256_add(uint8_t *sum, const uint8_t *string, uint8_t factor, uint32_t length);

#endif
