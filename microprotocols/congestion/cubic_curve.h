/* SPDX-License-Identifier: MIT */
/*
 * cubic_curve.h -- the cube of time by which CUBIC's window grows (RFC 9438, section 4.2).
 *
 *   window(t) = C (t - K)^3 + W_max      K = cbrt((W_max - window(0)) / C)
 *
 * in segments and seconds, C = 0.4.  In integers: time is in ticks of 100 us, the root is found by
 * Newton's method.
 */
#ifndef NOPAL_CUBIC_CURVE_H
#define NOPAL_CUBIC_CURVE_H

#include <nopal/microprotocol.h>

#define CUBIC_CURVE_TICK (100 * NOPAL_MICROSECOND)
enum {
	CUBIC_CURVE_C = 2, /* fifths */
	CUBIC_CURVE_PER = 5,
	/* One second is 10^4 ticks.  The cube of the longest time that counts, 200 s, fits 63
	 * bits. */
	CUBIC_CURVE_MAX_TICKS = 2000000,
};
#define CUBIC_CURVE_CUBED_SECOND (1000 * NOPAL_SECOND)

struct cubic_curve {
	int64_t maximum_bytes; /* W_max */
	int64_t k_ticks;
};

/* Largest r with r^3 <= value. */
static inline uint64_t cubic_curve_root(uint64_t value)
{
	uint64_t root = 1, next;

	if (value == 0)
		return 0;
	/* From above, by powers of two: Newton then falls monotonously. */
	for (uint64_t rest = value; rest; rest >>= 3)
		root <<= 1;
	while ((next = (2 * root + value / (root * root)) / 3) < root)
		root = next;
	return root;
}

/* The curve begins at `window`: K is how long it takes to be back at W_max. */
static inline void cubic_curve_begin(struct cubic_curve *curve, int64_t window,
				     uint32_t segment_bytes)
{
	int64_t missing = curve->maximum_bytes - window;

	curve->k_ticks = 0;
	if (missing > 0)
		curve->k_ticks = (int64_t)cubic_curve_root(
			nopal_scale((uint64_t)missing * CUBIC_CURVE_PER, CUBIC_CURVE_CUBED_SECOND,
				    (uint64_t)segment_bytes * CUBIC_CURVE_C));
}

/* The window of this time, at least 0. */
static inline int64_t cubic_curve_at(const struct cubic_curve *curve, int64_t time_ns,
				     uint32_t segment_bytes)
{
	int64_t away = time_ns / CUBIC_CURVE_TICK - curve->k_ticks;
	uint64_t side = (uint64_t)(away < 0 ? -away : away);
	int64_t bytes;

	if (side > CUBIC_CURVE_MAX_TICKS)
		side = CUBIC_CURVE_MAX_TICKS;
	bytes = (int64_t)nopal_scale(side * side * side, (uint64_t)segment_bytes * CUBIC_CURVE_C,
				     CUBIC_CURVE_PER * (uint64_t)CUBIC_CURVE_CUBED_SECOND);
	if (away >= 0)
		return curve->maximum_bytes + bytes;
	return curve->maximum_bytes > bytes ? curve->maximum_bytes - bytes : 0;
}

#endif
