/* SPDX-License-Identifier: MIT */
/*
 * cubic_curve.h -- the two windows that CUBIC follows after a loss: a cube of time (RFC 9438,
 * section 4.2), and what Reno would have by now (section 4.3).
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
/* RFC 9438: alpha = 3 (1 - beta) / (1 + beta) = 9/17. */
enum { CUBIC_CURVE_ALPHA = 9, CUBIC_CURVE_ALPHA_PER = 17 };

struct cubic_curve {
	int64_t maximum_bytes; /* W_max */
	int64_t prior_bytes;   /* window before the last reduction; 0: none, or a timeout */
	int64_t k_ticks;
	int64_t elapsed_ns;		 /* t */
	int64_t reno_bytes;		 /* W_est */
	uint64_t reno_rest, growth_rest; /* of the last divisions */
	bool begun;
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

/* Before the window grows, `passed_ns` after the ack before.  The curve begins at `window` after
 * each reduction: K is the time until the window is back at W_max. */
static inline void cubic_curve_pass(struct cubic_curve *curve, int64_t window, int64_t passed_ns,
				    uint32_t segment_bytes)
{
	curve->elapsed_ns += passed_ns;
	if (curve->begun)
		return;
	if (!curve->prior_bytes || curve->maximum_bytes < window)
		curve->maximum_bytes = window;
	curve->k_ticks = (int64_t)cubic_curve_root(
		nopal_scale((uint64_t)(curve->maximum_bytes - window) * CUBIC_CURVE_PER,
			    CUBIC_CURVE_CUBED_SECOND, (uint64_t)segment_bytes * CUBIC_CURVE_C));
	curve->elapsed_ns = 0;
	curve->reno_bytes = window;
	curve->reno_rest = 0;
	curve->growth_rest = 0;
	curve->begun = true;
}

/* The window of `ahead_ns` from now, at least 0. */
static inline int64_t cubic_curve_at(const struct cubic_curve *curve, int64_t ahead_ns,
				     uint32_t segment_bytes)
{
	int64_t away = (curve->elapsed_ns + ahead_ns) / CUBIC_CURVE_TICK - curve->k_ticks;
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

/* Reno's window after `acked` more bytes: it grows more slowly up to the window of the loss. */
static inline int64_t cubic_curve_reno(struct cubic_curve *curve, int64_t window, int64_t acked,
				       uint32_t segment_bytes)
{
	bool slower = curve->reno_bytes < curve->prior_bytes;
	uint64_t alpha = slower ? CUBIC_CURVE_ALPHA : CUBIC_CURVE_ALPHA_PER;
	uint64_t per = CUBIC_CURVE_ALPHA_PER * (uint64_t)window;
	uint64_t sum = (uint64_t)acked * segment_bytes * alpha + curve->reno_rest;

	curve->reno_bytes += (int64_t)(sum / per);
	curve->reno_rest = sum % per;
	return curve->reno_bytes;
}

#endif
