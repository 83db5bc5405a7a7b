/* SPDX-License-Identifier: MIT */
/*
 * westwood_congestion -- Westwood+ congestion control: a loss leaves the window that the path
 * carried.
 *
 *   window after a loss = bandwidth, as acknowledgements told it, * least rtt
 *
 * Additive increase as TCP has it; what a loss leaves is not half of the window but what fills the
 * path without a queue.  Where loss is random, that is nearly all of it.
 *
 * Paper:     Grieco and Mascolo, Performance evaluation and comparison of
 *            Westwood+, New Reno and Vegas TCP congestion control, ACM CCR 34(2),
 *            2004; Mascolo et al., TCP Westwood, MobiCom 2001.  As a policy:
 *            Bridges et al., CTP, ToN 2007, section III.D (b).
 * Differs:   the threshold is set once more when a recovery ends, from what was
 *            learned in it, for the filter lags behind slow start; the window
 *            then grows up to it, not in one burst.  A sample in which the
 *            application limits counts only where it is above the estimate;
 *            before the first sample a loss halves; a mark of congestion counts as
 *            a loss.
 */
#include "window_rules.h"

enum { WESTWOOD_FILTER = 8 }; /* Westwood+: 7/8 and 1/8 */
/* A sample is of a round trip, and of this at least: bursts of acks are no bandwidth (Linux: the
 * same). */
#define WESTWOOD_MIN_NS (50 * NOPAL_MILLISECOND)

struct westwood_congestion {
	struct loss_epoch epoch;
	int64_t counted_bytes; /* acked in avoidance since the last growth */
	uint64_t bps;	       /* bandwidth; 0: not known */
	int64_t sample_began_ns;
	uint64_t sample_bytes;
	bool sample_limited; /* the application was the limit in it */
};

static int64_t westwood_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct westwood_congestion *westwood = nopal_state(at);

	return window_rules_add(at, &westwood->counted_bytes, window, acked);
}

/* The path holds this much without a queue. */
static int64_t westwood_keep(struct nopal_at at, int64_t window)
{
	struct westwood_congestion *westwood = nopal_state(at);
	int64_t min_ns = nopal_shared_get(at, WINDOW_MIN_RTT);

	westwood->counted_bytes = 0;
	if (!westwood->bps)
		return window / 2;
	return loss_epoch_min(at.session, (int64_t)nopal_rate_bytes(westwood->bps, min_ns));
}

/* A sample is as long as a round trip.  The threshold learns from a recovery, too. */
static void westwood_see(struct nopal_at at, const struct nopal_ack *ack)
{
	struct westwood_congestion *westwood = nopal_state(at);
	int64_t elapsed_ns = at.session->now_ns - westwood->sample_began_ns;
	uint64_t before = westwood->bps, rate_bps;

	westwood->sample_bytes += ack->newly_acked_bytes;
	westwood->sample_limited |= nopal_shared_get(at, WINDOW_APP_LIMITED);
	if (elapsed_ns >= nopal_shared_get(at, WINDOW_RTT) && elapsed_ns >= WESTWOOD_MIN_NS) {
		rate_bps = nopal_rate_of(westwood->sample_bytes, elapsed_ns);
		if (before)
			rate_bps = before - before / WESTWOOD_FILTER + rate_bps / WESTWOOD_FILTER;
		if (!westwood->sample_limited || rate_bps >= before)
			westwood->bps = rate_bps;
		westwood->sample_began_ns = at.session->now_ns;
		westwood->sample_bytes = 0;
		westwood->sample_limited = false;
	}
	if (westwood->epoch.recovering && loss_epoch_is_resolved(at.session, &westwood->epoch))
		nopal_shared_set(at, WINDOW_THRESHOLD,
				 westwood_keep(at, nopal_shared_get(at, WINDOW_BYTES)));
}

static void westwood_opened(struct nopal_at at)
{
	struct westwood_congestion *westwood = nopal_state(at);

	westwood->sample_began_ns = at.session->now_ns;
}

const struct nopal_microprotocol nopal_westwood_congestion = {
	NOPAL_DESCRIBE(
		westwood_congestion, congestion,
		"Westwood+ congestion control: a loss leaves the window that the path carried"),
	WINDOW_RULES(westwood_congestion, WINDOW_NEEDS_RTT, .grow = westwood_grow,
		     .keep = westwood_keep, .see = westwood_see, .opened = westwood_opened),
	WINDOW_PARAMETERS,
	.shared = NOPAL_SHARED(WINDOW_SHARED, WINDOW_SHARED_RTT("smoothed_rtt_ns")),
};
