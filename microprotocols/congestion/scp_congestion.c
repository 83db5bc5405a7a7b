/* SPDX-License-Identifier: MIT */
/*
 * scp_congestion -- keep a constant few bytes queued, for smooth streaming.
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
 *            the rate has a quarter of slack, so
 *            that the window, not the rate, sets the pace.
 */
#include "window_rules.h"

enum { SCP_RATE = WINDOW_MIN_RTT + 1 };
enum {
	/* Rate over window / round trip: 5/4 steady, 2 where it doubles. */
	SCP_SLACK = 5,
	SCP_START_SLACK = 8,
	SCP_SLACK_PER = 4,
};

struct scp_congestion_parameters {
	struct window_parameters window;
	int64_t extra;
};

struct scp_congestion {
	struct loss_epoch epoch;
	uint64_t round_end; /* packet number that ends the round */
	int64_t round_began_ns;
	int64_t round_bytes; /* arrived in the round */
	bool round_limited;  /* the application was the limit in it */
};

static void scp_pace(struct nopal_at at, int64_t window, uint64_t slack)
{
	int64_t srtt = nopal_shared_get(at, WINDOW_RTT);

	if (srtt > 0)
		nopal_shared_set(
			at, SCP_RATE,
			(int64_t)nopal_rate_of((uint64_t)window * slack / SCP_SLACK_PER, srtt));
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

static void scp_end_round(struct nopal_at at)
{
	const struct scp_congestion_parameters *set = nopal_parameters(at);
	const struct scp_congestion *scp = nopal_state(at);
	int64_t window = nopal_shared_get(at, WINDOW_BYTES);
	int64_t held = window_rules_held(scp->round_bytes, nopal_shared_get(at, WINDOW_MIN_RTT),
					 at.session->now_ns - scp->round_began_ns);
	bool starting = window_rules_is_slow_start(at);

	if (starting)
		starting = scp->round_bytes - held <= set->extra;
	else if (!scp->epoch.recovering && !scp->round_limited)
		/* Never faster than one `extra` a round. */
		window = held < window ? held + set->extra : window + set->extra;
	if (!starting)
		nopal_shared_set(at, WINDOW_THRESHOLD, window);
	nopal_shared_set(at, WINDOW_BYTES, window);
	scp_pace(at, window, starting ? SCP_START_SLACK : SCP_SLACK);
}

static void scp_begin_round(struct nopal_session *session, struct scp_congestion *scp)
{
	scp->round_end = nopal_next_packet_number(session);
	scp->round_began_ns = session->now_ns;
	scp->round_bytes = 0;
	scp->round_limited = false;
}

static enum nopal_verdict scp_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct scp_congestion *scp = nopal_state(at);
	int64_t acked = (int64_t)ack->newly_acked_bytes;
	bool limited = nopal_shared_get(at, WINDOW_APP_LIMITED);

	scp->round_bytes += acked;
	scp->round_limited |= limited;
	if (loss_epoch_ends(at.session, &scp->epoch))
		scp_begin_round(at.session, scp);
	else if (window_rules_is_slow_start(at) && !limited)
		nopal_shared_get(at, WINDOW_BYTES) += acked;
	if (acked && ack->largest >= scp->round_end) {
		scp_end_round(at);
		scp_begin_round(at.session, scp);
	}
	return NOPAL_CONTINUE;
}

static void scp_opened(struct nopal_at at)
{
	struct scp_congestion *scp = nopal_state(at);

	scp->round_began_ns = at.session->now_ns;
}

static const struct window_rules scp_congestion_rules = {
	.keep = scp_keep,
	.timed_out = scp_timed_out,
	.opened = scp_opened,
};

static const struct nopal_parameter scp_congestion_table[] = {
	WINDOW_SEGMENTS(window_parameters, initial, "4seg", "first window"),
	NOPAL_NUMBER(scp_congestion, extra, "extra", SIZE, "3seg", "1seg", "100seg",
		     "bytes that may lie in queues, and growth a round"),
	{ 0 },
};

static const struct nopal_binding scp_congestion_bindings[] = {
	WINDOW_REACTIONS,
	NOPAL_ON(ACK_PROCESSED, scp_on_ack, .after = "loss_detection"),
	{ 0 },
};

static const struct nopal_relation scp_congestion_needs[] = {
	{ "acknowledgement", "it acts on what arrived and what did not" },
	{ "rtt", "the round trip is what it watches" },
	{ "window_mechanism", "somebody has to keep the window" },
	{ "rate_mechanism", "somebody has to keep the rate" },
	{ 0 },
};

static const struct nopal_shared scp_congestion_shared[] = {
	WINDOW_SHARED,
	WINDOW_SHARED_RTT("smoothed_rtt_ns"),
	[SCP_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0, "bits of bodies a second; 0: no limit" },
	{ 0 },
};

const struct nopal_microprotocol nopal_scp_congestion = {
	.abi = NOPAL_ABI,
	.name = "scp_congestion",
	.family = "congestion",
	.summary = "keep a constant few bytes queued, for smooth streaming",
	.provides =
		NOPAL_ROLES({ "congestion_policy", true }, { "window_policy" }, { "rate_policy" }),
	.needs = scp_congestion_needs,
	.promises = window_rules_promises,
	.parameters_size = sizeof(struct scp_congestion_parameters),
	.parameters = scp_congestion_table,
	.shared = scp_congestion_shared,
	.bindings = scp_congestion_bindings,
	.rules = &scp_congestion_rules,
	.state_size = sizeof(struct scp_congestion),
	.open = window_rules_open,
};
