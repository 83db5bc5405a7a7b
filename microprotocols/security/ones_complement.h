/* SPDX-License-Identifier: MIT */
/*
 * ones_complement.h -- the Internet's checksum (RFC 1071): the complement of the one's complement
 * sum of 16-bit words.  An odd byte at the end is a high one.
 *
 * Words of four bytes are added in 64 bits, and folded at the end: a carry out of 16 bits counts as
 * one, however wide the words were (section 2).
 */
#ifndef NOPAL_ONES_COMPLEMENT_H
#define NOPAL_ONES_COMPLEMENT_H

#include <stddef.h>
#include <stdint.h>

/* The sum of words of four bytes, with zeros behind the last. */
static inline uint64_t nopal__word_sum(const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0;

	for (; length >= 4; bytes += 4, length -= 4)
		sum += (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
		       (uint32_t)bytes[2] << 8 | bytes[3];
	for (unsigned shift = 24; length; length--, shift -= 8)
		sum += (uint32_t)*bytes++ << shift;
	return sum;
}

static inline uint16_t nopal__ones_complement(const uint8_t *bytes, size_t length)
{
	uint64_t sum = nopal__word_sum(bytes, length);

	while (sum >> 16)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)~sum;
}

#endif
