/* SPDX-License-Identifier: MIT */
/*
 * fast_congestion -- a window that goes straight to where `alpha` bytes are queued.
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
 * Needs:     acknowledgement, rtt, window_mechanism.
 * Provides:  congestion_policy, window_policy.
 * Excludes:  nothing.
 * Handles:   OPEN_SESSION, SEGMENT_LOST, SEGMENT_TIMEOUT, ACK_PROCESSED,
 *            CONGESTION_MARKED.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes congestion_window_bytes, slow_start_threshold_bytes; reads
 *            smoothed_rtt_ns, minimum_rtt_ns, app_limited, known_window_bytes
 *            (optional, 0): the first window, where it is larger.
 * Parameters: initial (default 10seg): first window; alpha (default 20seg): bytes
 *            that lie in queues.
 */
#include "window_policy.h"

enum {
	FAST_CONGESTION_SRTT = WINDOW_POLICY_NEXT,
	FAST_CONGESTION_LEAST_RTT,
};

struct fast_congestion_parameters {
	struct window_policy_parameters policy;
	int64_t alpha;
};

struct fast_congestion {
	struct window_policy policy;
	int64_t counted_bytes; /* acked since the last update */
};

/* What of the window would fill the path without a queue. */
static int64_t fast_congestion_held(struct nopal_at at, int64_t window)
{
	int64_t srtt = nopal_shared(at, FAST_CONGESTION_SRTT);
	int64_t least = nopal_shared(at, FAST_CONGESTION_LEAST_RTT);

	if (srtt <= least)
		return window;
	return (int64_t)nopal_scale((uint64_t)window, (uint64_t)least, (uint64_t)srtt);
}

/* Never more than the double: there is no queue below zero. */
static int64_t fast_congestion_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	const struct fast_congestion_parameters *set = nopal_parameters(at);
	struct fast_congestion *fast = nopal_state(at);
	int64_t next;

	fast->counted_bytes += acked;
	if (fast->counted_bytes < window)
		return window;
	fast->counted_bytes = 0;
	next = (window + fast_congestion_held(at, window) + set->alpha) / 2;
	return loss_epoch_least(at.session, next < 2 * window ? next : 2 * window);
}

static int64_t fast_congestion_kept(struct nopal_at at, int64_t window)
{
	(void)at;
	return window / 2;
}

/* The doubling has made a queue: from here on the rule goes on. */
static void fast_congestion_end_start(struct nopal_at at)
{
	const struct fast_congestion_parameters *set = nopal_parameters(at);
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);

	if (window < nopal_shared(at, WINDOW_POLICY_THRESHOLD) &&
	    window - fast_congestion_held(at, window) > set->alpha)
		nopal_share(at, WINDOW_POLICY_THRESHOLD, window);
}

static enum nopal_verdict fast_congestion_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	return window_policy_lost(at, segment, fast_congestion_kept);
}

static enum nopal_verdict fast_congestion_on_timeout(struct nopal_at at,
						     struct nopal_segment *segment)
{
	window_policy_timed_out(at, segment, fast_congestion_kept);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict fast_congestion_on_marked(struct nopal_at at,
						    struct nopal_session *subject)
{
	(void)subject;
	return window_policy_marked(at, fast_congestion_kept);
}

static enum nopal_verdict fast_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	fast_congestion_end_start(at);
	return window_policy_acked(at, ack, fast_congestion_grow);
}

static const struct nopal_parameter fast_congestion_parameters[] = {
	WINDOW_POLICY_PARAMETERS,
	NOPAL_NUMBER(fast_congestion, alpha, "alpha", SIZE, "20seg", "1seg", "1000seg",
		     "bytes that lie in queues"),
	{ 0 },
};

static const struct nopal_binding fast_congestion_bindings[] = {
	WINDOW_POLICY_BEGINS,
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, fast_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, fast_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, fast_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, fast_congestion_on_marked),
	{ 0 },
};

static const struct nopal_relation fast_congestion_needs[] = {
	{ "acknowledgement", "it acts on what arrived and what did not" },
	{ "rtt", "the round trip is what it goes by" },
	{ "window_mechanism", "somebody has to keep the window" },
	{ 0 },
};

static const struct nopal_shared fast_congestion_shared[] = {
	WINDOW_POLICY_SHARED,
	[FAST_CONGESTION_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0, "with what is queued" },
	[FAST_CONGESTION_LEAST_RTT] = { "minimum_rtt_ns", NOPAL_READ, 0, "without a queue" },
	{ 0 },
};

const struct nopal_microprotocol nopal_fast_congestion = {
	.abi = NOPAL_ABI,
	.name = "fast_congestion",
	.family = "congestion",
	.summary = "a window that goes straight to where `alpha` bytes are queued",
	.provides = window_policy_provides,
	.promises = window_policy_promises,
	.needs = fast_congestion_needs,
	.parameters_size = sizeof(struct fast_congestion_parameters),
	.parameters = fast_congestion_parameters,
	.shared = fast_congestion_shared,
	.bindings = fast_congestion_bindings,
	.state_size = sizeof(struct fast_congestion),
	.open = window_policy_open,
};
