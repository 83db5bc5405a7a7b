/* SPDX-License-Identifier: MIT */
/*
 * fast_congestion -- FAST TCP congestion control: straight to `alpha` bytes in queues.
 *
 *   once a window: window = (window + window * least rtt / rtt + alpha) / 2
 *
 * Like Vegas it goes by delay, but what is missing sets how far it goes, not only which way.  It
 * rests where what lies in queues is `alpha`.
 *
 * Paper:     Wei, Jin, Low, Hegde, FAST TCP: motivation, architecture, algorithms,
 *            performance, IEEE/ACM ToN 14(6), 2006, section IV.  One of the
 *            policies of UDT (Gu and Grossman, UDTv4, section 4.3).
 * Differs:   gamma is 1/2; the round trip is the smoothed one of the role rtt; a
 *            round of updates is a window of acknowledgements; slow start ends
 *            where `alpha` is queued already.  A loss halves the window, as does a
 *            mark of congestion.
 */
#include "window_rules.h"

struct fast_congestion_parameters {
	struct window_parameters window;
	int64_t alpha;
};

struct fast_congestion {
	struct loss_epoch epoch;
	int64_t counted_bytes; /* acked since the last update */
};

/* The part of the window that is not queued. */
static int64_t fast_held(struct nopal_at at, int64_t window)
{
	return window_rules_held(window, nopal_shared_get(at, WINDOW_MIN_RTT),
				 nopal_shared_get(at, WINDOW_RTT));
}

/* Never more than the double: there is no queue below zero. */
static int64_t fast_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	const struct fast_congestion_parameters *set = nopal_parameters(at);
	struct fast_congestion *fast = nopal_state(at);
	int64_t next;

	fast->counted_bytes += acked;
	if (fast->counted_bytes < window)
		return window;
	fast->counted_bytes = 0;
	next = (window + fast_held(at, window) + set->alpha) / 2;
	return loss_epoch_min(at.session, next < 2 * window ? next : 2 * window);
}

/* Where the doubling has made a queue, slow start is over. */
static void fast_see(struct nopal_at at, const struct nopal_ack *ack)
{
	const struct fast_congestion_parameters *set = nopal_parameters(at);
	int64_t window = nopal_shared_get(at, WINDOW_BYTES);

	(void)ack;
	if (window_rules_is_slow_start(at) && window - fast_held(at, window) > set->alpha)
		nopal_shared_set(at, WINDOW_THRESHOLD, window);
}

const struct nopal_microprotocol nopal_fast_congestion = {
	NOPAL_DESCRIBE(fast_congestion, congestion,
		       "FAST TCP congestion control: straight to `alpha` bytes in queues"),
	WINDOW_RULES(fast_congestion, WINDOW_NEEDS_RTT, .grow = fast_grow,
		     .keep = window_rules_half, .see = fast_see),
	.parameters_size = sizeof(struct fast_congestion_parameters),
	.parameters = NOPAL_PARAMETERS(WINDOW_INITIAL,
				       WINDOW_SEGMENTS(fast_congestion_parameters, alpha, "20seg",
						       "bytes that lie in queues")),
	.shared = NOPAL_SHARED(WINDOW_SHARED, WINDOW_SHARED_RTT("smoothed_rtt_ns")),
};
