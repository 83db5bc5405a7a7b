/* SPDX-License-Identifier: MIT */
/*
 * scp_congestion -- SCP congestion control: a constant few bytes queued, for smooth streaming.
 *
 *   slow start --queue or loss--> steady <--resolved-- congested
 *       ^                           |                    ^
 *       +--- timeout: from one segment        loss: half of the window
 *
 * Once a round, in the steady state, the window becomes what the path held without a queue (the
 * rate at which bytes arrived, times the least round trip) and `extra` on top: where the path has
 * room that grows by `extra` a round, and where it is full it stays put.  The rate spreads the
 * window over a round trip.
 *
 * Paper:     Cen, Pu, Walpole, Flow and congestion control for Internet media
 *            streaming applications, MMCN 1998; as a policy: Bridges et al.,
 *            CTP, ToN 2007, section III.D (b).
 * Differs:   counts bytes; a round is a span of packet numbers; the state
 *            congested lasts until all is resolved that was out at the
 *            reduction; a round in which the application limits changes nothing
 *            (the paper's paused state); a mark of congestion counts as a loss;
 *            the rate has a quarter of slack, so that the window, not the
 *            rate, sets the pace.
 */
#include "window_round.h"

/* Rate in quarters of window / round trip: 5/4 steady, 2 where the window doubles. */
enum { SCP_SLACK = 5, SCP_START_SLACK = 8, SCP_SLACK_PER = 4 };

struct scp_congestion_parameters {
	struct window_parameters window;
	int64_t extra;
};

struct scp_congestion {
	struct window_round round;
};

static void scp_pace(struct nopal_at at, int64_t window, int64_t slack)
{
	int64_t srtt = nopal_shared_get(at, WINDOW_RTT);
	uint64_t bytes = (uint64_t)(window * slack / SCP_SLACK_PER);

	if (srtt > 0)
		nopal_shared_set(at, WINDOW_RATE, (int64_t)nopal_rate_of(bytes, srtt));
}

static int64_t scp_keep(struct nopal_at at, int64_t window)
{
	scp_pace(at, loss_epoch_min(at.session, window / 2), SCP_SLACK);
	return window / 2;
}

/* There is no threshold: a queue ends slow start. */
static void scp_timed_out(struct nopal_at at)
{
	nopal_shared_set(at, WINDOW_THRESHOLD, INT64_MAX);
	scp_pace(at, nopal_body_limit(at.session), SCP_START_SLACK);
}

static void scp_judge(struct nopal_at at)
{
	const struct scp_congestion_parameters *set = nopal_parameters(at);
	const struct window_round *round = nopal_state(at);
	int64_t window = nopal_shared_get(at, WINDOW_BYTES);
	int64_t held = window_rules_held(round->acked_bytes, nopal_shared_get(at, WINDOW_MIN_RTT),
					 at.session->now_ns - round->began_ns);
	bool starting = window_rules_is_slow_start(at);

	if (starting)
		starting = round->acked_bytes - held <= set->extra;
	else if (!round->epoch.recovering && !round->limited)
		/* Never faster than one `extra` a round. */
		window = held < window ? held + set->extra : window + set->extra;
	if (!starting)
		nopal_shared_set(at, WINDOW_THRESHOLD, window);
	nopal_shared_set(at, WINDOW_BYTES, window);
	scp_pace(at, window, starting ? SCP_START_SLACK : SCP_SLACK);
}

const struct nopal_microprotocol nopal_scp_congestion = {
	NOPAL_DESCRIBE(scp_congestion, congestion,
		       "SCP congestion control: a constant few bytes queued, for smooth streaming"),
	.provides =
		NOPAL_ROLES({ "congestion_policy", true }, { "window_policy" }, { "rate_policy" }),
	.needs = NOPAL_RELATIONS(WINDOW_NEEDS_RTT,
				 { "rate_mechanism", "a mechanism has to keep to the rate" }),
	WINDOW_RULES_BASE(scp_congestion, .keep = scp_keep, .resolves = window_round_resolves,
			  .see = window_round_count, .after = window_round_end, .judge = scp_judge,
			  .timed_out = scp_timed_out, .opened = window_round_begin),
	.parameters_size = sizeof(struct scp_congestion_parameters),
	.parameters = NOPAL_PARAMETERS(
		WINDOW_SEGMENTS(window_parameters, initial, "4seg", "first window"),
		NOPAL_NUMBER(scp_congestion, extra, "extra", SIZE, "3seg", "1seg", "100seg",
			     "bytes that may lie in queues, and growth a round")),
	.shared = NOPAL_SHARED(WINDOW_SHARED, WINDOW_SHARED_RTT("smoothed_rtt_ns"),
			       WINDOW_SHARED_RATE),
};
