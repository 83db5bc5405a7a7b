/* SPDX-License-Identifier: MIT */
/*
 * westwood_congestion -- after a loss, the window that the path was carrying.
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
 * Parameters: initial (default 10seg): first window.
 */
#include "additive_increase.h"
#include "window_policy.h"

enum {
	WESTWOOD_CONGESTION_SRTT = WINDOW_POLICY_NEXT,
	WESTWOOD_CONGESTION_LEAST_RTT,
};
enum { WESTWOOD_CONGESTION_FILTER = 8 }; /* Westwood+: 7/8 and 1/8 */
/* A sample is of a round trip, and of this at least: bursts of acks are no bandwidth (Linux: the
 * same). */
#define WESTWOOD_CONGESTION_LEAST_NS (50 * NOPAL_MILLISECOND)

struct westwood_congestion {
	struct loss_epoch epoch;
	int64_t counted_bytes;	/* acked in avoidance since the last growth */
	uint64_t bandwidth_bps; /* 0: not known */
	int64_t sample_began_ns;
	uint64_t sample_bytes;
	bool sample_limited; /* the application was the limit in it */
};

/* What the path holds without a queue becomes the threshold. */
static int64_t westwood_congestion_judge(struct nopal_at at)
{
	const struct westwood_congestion *westwood = nopal_state(at);
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	int64_t least = nopal_shared(at, WESTWOOD_CONGESTION_LEAST_RTT);
	int64_t held = window / 2;

	if (westwood->bandwidth_bps)
		held = (int64_t)nopal_rate_bytes(westwood->bandwidth_bps, least);
	held = loss_epoch_least(at.session, held);
	nopal_share(at, WINDOW_POLICY_THRESHOLD, held);
	return held;
}

static void westwood_congestion_reduce(struct nopal_at at)
{
	struct westwood_congestion *westwood = nopal_state(at);
	int64_t held = westwood_congestion_judge(at);

	westwood->counted_bytes = 0;
	if (held < nopal_shared(at, WINDOW_POLICY_WINDOW))
		nopal_share(at, WINDOW_POLICY_WINDOW, held);
}

static enum nopal_verdict westwood_congestion_on_lost(struct nopal_at at,
						      struct nopal_segment *segment)
{
	struct westwood_congestion *westwood = nopal_state(at);

	if (loss_epoch_lost(at.session, &westwood->epoch, segment))
		westwood_congestion_reduce(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict westwood_congestion_on_marked(struct nopal_at at,
							struct nopal_session *subject)
{
	struct westwood_congestion *westwood = nopal_state(at);

	(void)subject;
	if (loss_epoch_marked(at.session, &westwood->epoch, nopal_shared(at, WINDOW_POLICY_WINDOW)))
		westwood_congestion_reduce(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict westwood_congestion_on_timeout(struct nopal_at at,
							 struct nopal_segment *segment)
{
	struct westwood_congestion *westwood = nopal_state(at);

	if (!loss_epoch_timed_out(at.session, &westwood->epoch, segment))
		return NOPAL_CONTINUE;
	westwood_congestion_judge(at);
	westwood->counted_bytes = 0;
	nopal_share(at, WINDOW_POLICY_WINDOW, nopal_body_limit(at.session));
	return NOPAL_CONTINUE;
}

static void westwood_congestion_take(struct westwood_congestion *westwood, uint64_t sample_bps)
{
	uint64_t before = westwood->bandwidth_bps;

	if (westwood->sample_limited && sample_bps < before)
		return;
	if (before)
		sample_bps = before - before / WESTWOOD_CONGESTION_FILTER +
			     sample_bps / WESTWOOD_CONGESTION_FILTER;
	westwood->bandwidth_bps = sample_bps;
}

/* Counts an ack, and ends the sample that is as long as a round trip. */
static void westwood_congestion_sample(struct nopal_at at, uint64_t acked)
{
	struct westwood_congestion *westwood = nopal_state(at);
	int64_t long_ns = nopal_shared(at, WESTWOOD_CONGESTION_SRTT);
	int64_t elapsed_ns = at.session->now_ns - westwood->sample_began_ns;

	westwood->sample_bytes += acked;
	westwood->sample_limited |= nopal_shared(at, WINDOW_POLICY_APP_LIMITED);
	if (long_ns < WESTWOOD_CONGESTION_LEAST_NS)
		long_ns = WESTWOOD_CONGESTION_LEAST_NS;
	if (elapsed_ns < long_ns)
		return;
	westwood_congestion_take(westwood, nopal_rate_of(westwood->sample_bytes, elapsed_ns));
	westwood->sample_began_ns = at.session->now_ns;
	westwood->sample_bytes = 0;
	westwood->sample_limited = false;
}

static void westwood_congestion_grow(struct nopal_at at, int64_t acked)
{
	struct westwood_congestion *westwood = nopal_state(at);
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	int64_t threshold = nopal_shared(at, WINDOW_POLICY_THRESHOLD);

	window = additive_increase(&westwood->counted_bytes, window, threshold, acked,
				   nopal_body_limit(at.session));
	nopal_share(at, WINDOW_POLICY_WINDOW, window);
}

static enum nopal_verdict westwood_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct westwood_congestion *westwood = nopal_state(at);

	if (!ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	westwood_congestion_sample(at, ack->newly_acked_bytes);
	if (loss_epoch_ends(at.session, &westwood->epoch))
		westwood_congestion_judge(at);
	else if (!westwood->epoch.recovering && !nopal_shared(at, WINDOW_POLICY_APP_LIMITED))
		westwood_congestion_grow(at, (int64_t)ack->newly_acked_bytes);
	return NOPAL_CONTINUE;
}

static int westwood_congestion_open(struct nopal_at at)
{
	struct westwood_congestion *westwood = nopal_state(at);

	westwood->sample_began_ns = at.session->now_ns;
	westwood->sample_limited = true;
	return window_policy_open(at);
}

static const struct nopal_parameter westwood_congestion_parameters[] = {
	WINDOW_POLICY_PARAMETERS,
	{ 0 },
};

static const struct nopal_binding westwood_congestion_bindings[] = {
	WINDOW_POLICY_BEGINS,
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, westwood_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, westwood_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, westwood_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, westwood_congestion_on_marked),
	{ 0 },
};

static const struct nopal_relation westwood_congestion_needs[] = {
	{ "acknowledgement", "it acts on what arrived and what did not" },
	{ "rtt", "bandwidth and round trip make a window" },
	{ "window_mechanism", "somebody has to keep the window" },
	{ 0 },
};

static const struct nopal_shared westwood_congestion_shared[] = {
	WINDOW_POLICY_SHARED,
	[WESTWOOD_CONGESTION_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0, "length of a sample" },
	[WESTWOOD_CONGESTION_LEAST_RTT] = { "minimum_rtt_ns", NOPAL_READ, 0,
					    "the round trip without a queue" },
	{ 0 },
};

const struct nopal_microprotocol nopal_westwood_congestion = {
	.abi = NOPAL_ABI,
	.name = "westwood_congestion",
	.family = "congestion",
	.summary = "after a loss, the window that the path was carrying",
	.provides = window_policy_provides,
	.promises = window_policy_promises,
	.needs = westwood_congestion_needs,
	.parameters_size = sizeof(struct window_policy_parameters),
	.parameters = westwood_congestion_parameters,
	.shared = westwood_congestion_shared,
	.bindings = westwood_congestion_bindings,
	.state_size = sizeof(struct westwood_congestion),
	.open = westwood_congestion_open,
};
