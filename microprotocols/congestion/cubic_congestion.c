/* SPDX-License-Identifier: MIT */
/*
 * cubic_congestion -- CUBIC congestion control (RFC 9438).
 *
 *   window(t) = C (t - K)^3 + W_max      K = cbrt((W_max - window(0)) / C)
 *
 * in segments and seconds, C = 0.4; after a loss 0.7 of the window is kept.
 *
 * Paper:     Ha, Rhee, Xu, CUBIC, 2008; RFC 9438.  As a policy: Bridges et al.,
 *            CTP, ToN 2007, section III.D (b).  Slow start ends by delay as in
 *            RFC 9406 (HyStart++), section 4.2.
 * Differs:   integers only: time in ticks of 100 us, the cube root by Newton,
 *            remainders kept.  Time in which the application limits does not
 *            pass.  An epoch of loss ends when every packet number that was out
 *            at the reduction is resolved.  Slow start that saw delay grow ends
 *            at once, without the conservative rounds of RFC 9406.
 */
#include "rtt_round.h"
#include "window_rules.h"

enum { HYSTART_LATEST = WINDOW_NEXT, HYSTART_NEXT };
#define HYSTART_SHARED                                                                             \
	WINDOW_SHARED, [HYSTART_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0, "does a queue grow" }

enum { HYSTART_RTT_SHARE = 8 };
#define HYSTART_MIN_RISE (4 * NOPAL_MILLISECOND)
#define HYSTART_MAX_RISE (16 * NOPAL_MILLISECOND)

struct hystart_parameters {
	struct window_parameters window;
	int64_t on;
};

#define HYSTART_PARAMETERS                                                                         \
	WINDOW_INITIAL, NOPAL_ON_OFF(hystart, on, "hystart", "on",                                 \
				     "leave slow start when the delay grows")

struct hystart {
	struct loss_epoch epoch;
	struct rtt_round round; /* of slow start */
};

/* Slow start ends when the delay grows: the least round trip of a round is held against that of the
 * round before; an eighth more, within limits, and a queue has begun to grow. */
static int64_t hystart_start(struct nopal_at at, int64_t window, const struct nopal_ack *ack)
{
	const struct hystart_parameters *set = nopal_parameters(at);
	struct hystart *hystart = nopal_state(at);
	struct rtt_round *round = &hystart->round;
	int64_t rise;

	window += (int64_t)ack->newly_acked_bytes;
	if (!set->on)
		return window;
	if (rtt_round_is_over(round, ack))
		rtt_round_begin(at.session, round);
	if (!rtt_round_sample(round, ack, nopal_shared_get(at, HYSTART_LATEST)))
		return window;
	rise = round->before_ns / HYSTART_RTT_SHARE;
	if (rise < HYSTART_MIN_RISE)
		rise = HYSTART_MIN_RISE;
	if (rise > HYSTART_MAX_RISE)
		rise = HYSTART_MAX_RISE;
	if (round->before_ns && round->samples >= RTT_ROUND_ENOUGH &&
	    round->min_ns - rise >= round->before_ns)
		nopal_shared_set(at, WINDOW_THRESHOLD, window);
	return window;
}

/* ------------------------------------------------------------------- the curve */

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
static uint64_t cubic_curve_root(uint64_t value)
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
static void cubic_curve_pass(struct cubic_curve *curve, int64_t window, int64_t passed_ns,
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
static int64_t cubic_curve_at(const struct cubic_curve *curve, int64_t ahead_ns,
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
static int64_t cubic_curve_reno(struct cubic_curve *curve, int64_t window, int64_t acked,
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

enum { CUBIC_SRTT = HYSTART_NEXT };
enum { CUBIC_BETA = 7, CUBIC_TENTHS = 10 }; /* RFC 9438: beta = 7/10 */

struct cubic_congestion {
	struct hystart start;
	struct cubic_curve curve;
	int64_t acked_ns, passed_ns; /* last ack, and time since the ack before */
};

static int64_t cubic_keep(struct nopal_at at, int64_t window)
{
	struct cubic_congestion *cubic = nopal_state(at);
	int64_t kept = window * CUBIC_BETA / CUBIC_TENTHS;

	cubic->curve.maximum_bytes =
		window_rules_converge(cubic->curve.maximum_bytes, window, kept);
	cubic->curve.prior_bytes = window;
	cubic->curve.begun = false;
	return kept;
}

static void cubic_timed_out(struct nopal_at at)
{
	struct cubic_congestion *cubic = nopal_state(at);

	cubic->curve.prior_bytes = 0;
}

static int64_t cubic_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct cubic_congestion *cubic = nopal_state(at);
	uint32_t segment_bytes = nopal_body_limit(at.session);
	int64_t srtt = nopal_shared_get(at, CUBIC_SRTT);
	int64_t target, reno;

	cubic_curve_pass(&cubic->curve, window, cubic->passed_ns, segment_bytes);
	target = cubic_curve_at(&cubic->curve, srtt, segment_bytes);
	reno = cubic_curve_reno(&cubic->curve, window, acked, segment_bytes);
	if (target > window + window / 2)
		target = window + window / 2;
	if (target > window)
		window = window_rules_step(window, target - window, acked,
					   &cubic->curve.growth_rest);
	return window > reno ? window : reno;
}

static void cubic_see(struct nopal_at at, const struct nopal_ack *ack)
{
	struct cubic_congestion *cubic = nopal_state(at);

	(void)ack;
	cubic->passed_ns = at.session->now_ns - cubic->acked_ns;
	cubic->acked_ns = at.session->now_ns;
}

const struct nopal_microprotocol nopal_cubic_congestion = {
	NOPAL_DESCRIBE(cubic_congestion, congestion, "CUBIC congestion control (RFC 9438)"),
	WINDOW_RULES(cubic_congestion, WINDOW_NEEDS_RTT, .grow = cubic_grow, .keep = cubic_keep,
		     .start = hystart_start, .see = cubic_see, .timed_out = cubic_timed_out),
	.standard = "congestion_policy|window_policy",
	.parameters_size = sizeof(struct hystart_parameters),
	.parameters = NOPAL_PARAMETERS(HYSTART_PARAMETERS),
	.shared = NOPAL_SHARED(
		HYSTART_SHARED, [CUBIC_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0,
						 "the curve looks one round trip ahead" }),
};
