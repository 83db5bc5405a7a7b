/* SPDX-License-Identifier: MIT */
/*
 * pattern.h -- the bytes of a file that a workload carries, so that both sides know each of them.
 */
#ifndef NOPAL_PATTERN_H
#define NOPAL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the file's byte `at`: the high byte of a product with 2^32 over the golden section. */
static inline uint8_t pattern_byte(uint64_t at)
{
	return (uint8_t)((uint32_t)at * UINT32_C(2654435761) >> 24);
}

static inline void pattern_fill(uint8_t *bytes, size_t length, uint64_t at)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern_byte(at + i);
}

/* Are these the file's bytes from `at` on? */
static inline bool pattern_is(const uint8_t *bytes, size_t length, uint64_t at)
{
	bool same = true;

	for (size_t i = 0; i < length; i++)
		same &= bytes[i] == pattern_byte(at + i);
	return same;
}

#endif
