/* SPDX-License-Identifier: MIT */
/*
 * binary_log.h -- logarithms to the base of two, and powers of two, in integers.
 *
 * Numbers are in parts of BINARY_LOG_UNITY.  What is squared again and again says bit by bit what
 * its logarithm is behind the point; the other way, a power is the product of repeated square roots
 * of two.
 */
#ifndef NOPAL_BINARY_LOG_H
#define NOPAL_BINARY_LOG_H

#include <nopal/microprotocol.h>

enum {
	BINARY_LOG_BITS = 16,
	BINARY_LOG_UNITY = 1 << BINARY_LOG_BITS,
	BINARY_LOG_FINE = 30, /* bits behind the point inside */
};

/* Of a number above 0; parts that are less than one are cut. */
static inline int64_t binary_log(uint64_t value)
{
	int whole = 63 - __builtin_clzll(value);
	uint64_t rest = whole > BINARY_LOG_FINE ? value >> (whole - BINARY_LOG_FINE)
						: value << (BINARY_LOG_FINE - whole);
	int64_t found = whole;

	for (int i = 0; i < BINARY_LOG_BITS; i++) {
		rest = rest * rest >> BINARY_LOG_FINE;
		found *= 2;
		if (rest >> (BINARY_LOG_FINE + 1)) {
			rest >>= 1;
			found++;
		}
	}
	return found;
}

/* Two to the power of `log`, which is not negative and less than 16. */
static inline int64_t binary_power(int64_t log)
{
	/* 2^(1/2), 2^(1/4) ... with BINARY_LOG_FINE bits behind the point. */
	static const uint32_t root[BINARY_LOG_BITS] = {
		1518500249, 1276901416, 1170923761, 1121280435, 1097253708, 1085434105,
		1079572135, 1076653033, 1075196443, 1074468887, 1074105294, 1073923543,
		1073832680, 1073787251, 1073764537, 1073753180,
	};
	uint64_t power = UINT64_C(1) << BINARY_LOG_FINE;

	for (int i = 0; i < BINARY_LOG_BITS; i++)
		if (log >> (BINARY_LOG_BITS - 1 - i) & 1)
			power = power * root[i] >> BINARY_LOG_FINE;
	return (int64_t)(power >> (BINARY_LOG_FINE - BINARY_LOG_BITS)) << (log >> BINARY_LOG_BITS);
}

#endif
