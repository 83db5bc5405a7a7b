/* SPDX-License-Identifier: MIT */
/*
 * cubic_congestion -- a window that grows as the cube of time since its loss.
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
#include "cubic_curve.h"
#include "hystart.h"
#include "window_rules.h"

enum { CUBIC_SRTT = WINDOW_NEXT, CUBIC_LATEST };

/* RFC 9438: beta = 7/10, alpha = 3 (1 - beta) / (1 + beta) = 9/17. */
enum {
	CUBIC_BETA = 7,
	CUBIC_TENTHS = 10,
	CUBIC_ALPHA = 9,
	CUBIC_ALPHA_PER = 17,
};

struct cubic_congestion_parameters {
	struct window_parameters window;
	int64_t hystart;
};

struct cubic_congestion {
	struct loss_epoch epoch;
	struct rtt_round round; /* of slow start */
	struct cubic_curve curve;
	int64_t prior_bytes;	/* window before the last reduction */
	int64_t friendly_bytes; /* W_est: what Reno would have */
	uint64_t friendly_rest; /* of its last division */
	uint64_t growth_rest;
	int64_t elapsed_ns, passed_ns; /* of this avoidance, t; since the ack before */
	int64_t acked_ns;	       /* last ack */
	bool reduced;		       /* a loss set W_max; else the curve begins at its K */
	bool avoiding;		       /* the curve has begun */
};

static int64_t cubic_share(int64_t bytes, int64_t tenths)
{
	return bytes * tenths / CUBIC_TENTHS;
}

/* With fast convergence: a flow whose window shrinks from loss to loss leaves room for others (RFC
 * 9438, section 4.7). */
static int64_t cubic_keep(struct nopal_at at, int64_t window)
{
	struct cubic_congestion *cubic = nopal_state(at);
	bool shrinks = window < cubic->curve.maximum_bytes;
	int64_t tenths = CUBIC_TENTHS + CUBIC_BETA;

	cubic->prior_bytes = window;
	cubic->curve.maximum_bytes = shrinks ? cubic_share(window, tenths) / 2 : window;
	cubic->avoiding = false;
	cubic->reduced = true;
	return cubic_share(window, CUBIC_BETA);
}

static void cubic_timed_out(struct nopal_at at)
{
	struct cubic_congestion *cubic = nopal_state(at);

	cubic->reduced = false;
}

static void cubic_begin(struct cubic_congestion *cubic, int64_t window, uint32_t segment_bytes)
{
	if (!cubic->reduced || cubic->curve.maximum_bytes < window)
		cubic->curve.maximum_bytes = window;
	if (!cubic->reduced)
		cubic->prior_bytes = window;
	cubic_curve_begin(&cubic->curve, window, segment_bytes);
	cubic->friendly_bytes = window;
	cubic->friendly_rest = 0;
	cubic->growth_rest = 0;
	cubic->elapsed_ns = 0;
	cubic->avoiding = true;
}

/* RFC 9438, section 4.3: what Reno would have by now. */
static void cubic_befriend(struct cubic_congestion *cubic, int64_t window, uint64_t acked,
			   uint32_t segment_bytes)
{
	bool slower = cubic->friendly_bytes < cubic->prior_bytes;
	uint64_t alpha = slower ? CUBIC_ALPHA : CUBIC_ALPHA_PER;
	uint64_t per = CUBIC_ALPHA_PER * (uint64_t)window;
	uint64_t sum = acked * segment_bytes * alpha + cubic->friendly_rest;

	cubic->friendly_bytes += (int64_t)(sum / per);
	cubic->friendly_rest = sum % per;
}

static int64_t cubic_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct cubic_congestion *cubic = nopal_state(at);
	uint32_t segment_bytes = nopal_body_limit(at.session);
	int64_t srtt = nopal_shared_get(at, CUBIC_SRTT);
	int64_t target;

	if (!cubic->avoiding)
		cubic_begin(cubic, window, segment_bytes);
	else
		cubic->elapsed_ns += cubic->passed_ns;
	target = cubic_curve_at(&cubic->curve, cubic->elapsed_ns + srtt, segment_bytes);
	cubic_befriend(cubic, window, (uint64_t)acked, segment_bytes);
	if (target > window + window / 2)
		target = window + window / 2;
	if (target > window) {
		uint64_t sum = (uint64_t)(target - window) * (uint64_t)acked + cubic->growth_rest;

		cubic->growth_rest = sum % (uint64_t)window;
		window += (int64_t)(sum / (uint64_t)window);
	}
	return window > cubic->friendly_bytes ? window : cubic->friendly_bytes;
}

static int64_t cubic_start(struct nopal_at at, int64_t window, const struct nopal_ack *ack)
{
	const struct cubic_congestion_parameters *set = nopal_parameters(at);
	struct cubic_congestion *cubic = nopal_state(at);
	int64_t latest_ns = nopal_shared_get(at, CUBIC_LATEST);

	window += (int64_t)ack->newly_acked_bytes;
	if (set->hystart && hystart_is_delayed(at.session, &cubic->round, ack, latest_ns))
		nopal_shared_set(at, WINDOW_THRESHOLD, window);
	return window;
}

static void cubic_see(struct nopal_at at, const struct nopal_ack *ack)
{
	struct cubic_congestion *cubic = nopal_state(at);

	(void)ack;
	cubic->passed_ns = at.session->now_ns - cubic->acked_ns;
	cubic->acked_ns = at.session->now_ns;
}

static const struct window_rules cubic_congestion_rules = {
	.grow = cubic_grow,
	.keep = cubic_keep,
	.start = cubic_start,
	.see = cubic_see,
	.timed_out = cubic_timed_out,
};

static const struct nopal_parameter cubic_congestion_table[] = {
	WINDOW_INITIAL,
	NOPAL_ON_OFF(cubic_congestion, hystart, "hystart", "on",
		     "leave slow start when the delay grows"),
	{ 0 },
};

static const struct nopal_shared cubic_congestion_shared[] = {
	WINDOW_SHARED,
	[CUBIC_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0, "how far ahead the curve looks" },
	[CUBIC_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0, "does a queue grow" },
	{ 0 },
};

const struct nopal_microprotocol nopal_cubic_congestion = {
	WINDOW_RULES(cubic_congestion, window_rules_needs_rtt),
	.name = "cubic_congestion",
	.family = "congestion",
	.summary = "a window that grows as the cube of time since its loss",
	.standard = "congestion_policy|window_policy",
	.parameters_size = sizeof(struct cubic_congestion_parameters),
	.parameters = cubic_congestion_table,
	.shared = cubic_congestion_shared,
};
