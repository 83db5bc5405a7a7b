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
#include "cubic_curve.h"
#include "hystart.h"

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

static const struct window_rules cubic_congestion_rules = {
	.grow = cubic_grow,
	.keep = cubic_keep,
	.start = hystart_start,
	.see = cubic_see,
	.timed_out = cubic_timed_out,
};

const struct nopal_microprotocol nopal_cubic_congestion = {
	NOPAL_DESCRIBE(cubic_congestion, congestion, "CUBIC congestion control (RFC 9438)"),
	WINDOW_RULES(cubic_congestion, window_rules_needs_rtt),
	.standard = "congestion_policy|window_policy",
	.parameters_size = sizeof(struct hystart_parameters),
	.parameters = NOPAL_PARAMETERS(HYSTART_PARAMETERS),
	.shared = NOPAL_SHARED(
		HYSTART_SHARED, [CUBIC_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0,
						 "the curve looks one round trip ahead" }),
};
