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
 * Needs:     acknowledgement, rtt, window_mechanism, rate_mechanism.
 * Provides:  congestion_policy, window_policy, rate_policy.
 * Excludes:  nothing.
 * Handles:   OPEN_SESSION, SEGMENT_LOST, SEGMENT_TIMEOUT, ACK_PROCESSED,
 *            CONGESTION_MARKED.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes congestion_window_bytes, sending_rate_bps; reads
 *            smoothed_rtt_ns, minimum_rtt_ns, app_limited, known_window_bytes
 *            (optional, 0): the first window, where it is larger.
 * Parameters: initial (default 4seg): first window; extra (default 3seg): bytes
 *            that may lie in queues.
 */
#include "known_window.h"
#include "loss_epoch.h"

enum {
	SCP_CONGESTION_WINDOW,
	SCP_CONGESTION_RATE,
	SCP_CONGESTION_SRTT,
	SCP_CONGESTION_LEAST_RTT,
	SCP_CONGESTION_APP_LIMITED,
	SCP_CONGESTION_KNOWN,
};
enum scp_congestion_mode {
	SCP_CONGESTION_SLOW_START,
	SCP_CONGESTION_STEADY,
	SCP_CONGESTION_CONGESTED,
};
enum {
	/* Rate over window / round trip: 5/4 steady, 2 where it doubles. */
	SCP_CONGESTION_SLACK = 5,
	SCP_CONGESTION_START_SLACK = 8,
	SCP_CONGESTION_SLACK_PER = 4,
};

struct scp_congestion_parameters {
	int64_t initial;
	int64_t extra;
};

struct scp_congestion {
	enum scp_congestion_mode mode;
	struct loss_epoch epoch;
	uint64_t round_end; /* packet number that ends the round */
	int64_t round_began_ns;
	int64_t round_bytes; /* arrived in the round */
	bool round_limited;  /* the application was the limit in it */
};

static void scp_congestion_set(struct nopal_at at, int64_t window)
{
	const struct scp_congestion *scp = nopal_state(at);
	int64_t srtt = nopal_shared(at, SCP_CONGESTION_SRTT);
	uint64_t slack = scp->mode == SCP_CONGESTION_SLOW_START ? SCP_CONGESTION_START_SLACK
								: SCP_CONGESTION_SLACK;

	nopal_share(at, SCP_CONGESTION_WINDOW, window);
	if (srtt > 0)
		nopal_share(at, SCP_CONGESTION_RATE,
			    (int64_t)nopal_rate_of(
				    (uint64_t)window * slack / SCP_CONGESTION_SLACK_PER, srtt));
}

static void scp_congestion_halve(struct nopal_at at)
{
	struct scp_congestion *scp = nopal_state(at);
	int64_t window = nopal_shared(at, SCP_CONGESTION_WINDOW);

	scp->mode = SCP_CONGESTION_CONGESTED;
	scp_congestion_set(at, loss_epoch_least(at.session, window / 2));
}

static enum nopal_verdict scp_congestion_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct scp_congestion *scp = nopal_state(at);

	if (loss_epoch_lost(at.session, &scp->epoch, segment))
		scp_congestion_halve(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict scp_congestion_on_marked(struct nopal_at at,
						   struct nopal_session *subject)
{
	struct scp_congestion *scp = nopal_state(at);

	(void)subject;
	if (loss_epoch_marked(at.session, &scp->epoch, nopal_shared(at, SCP_CONGESTION_WINDOW)))
		scp_congestion_halve(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict scp_congestion_on_timeout(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct scp_congestion *scp = nopal_state(at);

	if (!loss_epoch_timed_out(at.session, &scp->epoch, segment))
		return NOPAL_CONTINUE;
	scp->mode = SCP_CONGESTION_SLOW_START;
	scp_congestion_set(at, nopal_body_limit(at.session));
	return NOPAL_CONTINUE;
}

/* What the path would hold, at the round's rate, without a queue. */
static int64_t scp_congestion_held(struct nopal_at at)
{
	const struct scp_congestion *scp = nopal_state(at);
	int64_t elapsed = at.session->now_ns - scp->round_began_ns;
	int64_t least = nopal_shared(at, SCP_CONGESTION_LEAST_RTT);

	if (elapsed < least)
		elapsed = least;
	if (elapsed <= 0)
		return scp->round_bytes;
	return (int64_t)nopal_scale((uint64_t)scp->round_bytes, (uint64_t)least, (uint64_t)elapsed);
}

static void scp_congestion_end_round(struct nopal_at at)
{
	const struct scp_congestion_parameters *set = nopal_parameters(at);
	struct scp_congestion *scp = nopal_state(at);
	int64_t window = nopal_shared(at, SCP_CONGESTION_WINDOW);
	int64_t held = scp_congestion_held(at);

	if (scp->mode == SCP_CONGESTION_SLOW_START) {
		int64_t queued = scp->round_bytes - held;

		if (queued > set->extra)
			scp->mode = SCP_CONGESTION_STEADY;
	} else if (scp->mode == SCP_CONGESTION_STEADY && !scp->round_limited) {
		/* Never faster than one `extra` a round. */
		window = held < window ? held + set->extra : window + set->extra;
	}
	scp_congestion_set(at, window);
}

static void scp_congestion_begin_round(struct nopal_session *session, struct scp_congestion *scp)
{
	scp->round_end = nopal_next_packet_number(session);
	scp->round_began_ns = session->now_ns;
	scp->round_bytes = 0;
	scp->round_limited = false;
}

static enum nopal_verdict scp_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct scp_congestion *scp = nopal_state(at);
	int64_t acked = (int64_t)ack->newly_acked_bytes;
	bool limited = nopal_shared(at, SCP_CONGESTION_APP_LIMITED);

	scp->round_bytes += acked;
	scp->round_limited |= limited;
	if (loss_epoch_ends(at.session, &scp->epoch)) {
		scp->mode = SCP_CONGESTION_STEADY;
		scp_congestion_begin_round(at.session, scp);
	} else if (scp->mode == SCP_CONGESTION_SLOW_START && !limited) {
		nopal_shared(at, SCP_CONGESTION_WINDOW) += acked;
	}
	if (acked && ack->largest >= scp->round_end) {
		scp_congestion_end_round(at);
		scp_congestion_begin_round(at.session, scp);
	}
	return NOPAL_CONTINUE;
}

static int scp_congestion_open(struct nopal_at at)
{
	const struct scp_congestion_parameters *set = nopal_parameters(at);
	struct scp_congestion *scp = nopal_state(at);

	scp->round_began_ns = at.session->now_ns;
	nopal_share(at, SCP_CONGESTION_WINDOW, set->initial);
	return 0;
}

static enum nopal_verdict scp_congestion_on_open_session(struct nopal_at at,
							 struct nopal_session *subject)
{
	(void)subject;
	known_window_begin(at, SCP_CONGESTION_WINDOW, SCP_CONGESTION_KNOWN);
	return NOPAL_CONTINUE;
}

static const struct nopal_parameter scp_congestion_parameters[] = {
	NOPAL_NUMBER(scp_congestion, initial, "initial", SIZE, "4seg", "1seg", "1000seg",
		     "first window"),
	NOPAL_NUMBER(scp_congestion, extra, "extra", SIZE, "3seg", "1seg", "100seg",
		     "bytes that may lie in queues, and growth a round"),
	{ 0 },
};

static const struct nopal_binding scp_congestion_bindings[] = {
	NOPAL_ON(OPEN_SESSION, scp_congestion_on_open_session, .before = "connection"),
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, scp_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, scp_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, scp_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, scp_congestion_on_marked),
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
	[SCP_CONGESTION_WINDOW] = { "congestion_window_bytes", NOPAL_WRITE, 0,
				    "room on the network" },
	[SCP_CONGESTION_RATE] = { "sending_rate_bps", NOPAL_WRITE, 0,
				  "bits of bodies a second; 0: no limit" },
	[SCP_CONGESTION_SRTT] = { "smoothed_rtt_ns", NOPAL_READ, 0,
				  "what the window is spread over" },
	[SCP_CONGESTION_LEAST_RTT] = { "minimum_rtt_ns", NOPAL_READ, 0,
				       "the round trip without a queue" },
	[SCP_CONGESTION_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,
					 "1: the window was not what limited us" },
	[SCP_CONGESTION_KNOWN] = { "known_window_bytes", NOPAL_READ_OPTIONAL, 0,
				   "of earlier sessions" },
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
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct scp_congestion_parameters),
	.parameters = scp_congestion_parameters,
	.shared = scp_congestion_shared,
	.bindings = scp_congestion_bindings,
	.state_size = sizeof(struct scp_congestion),
	.open = scp_congestion_open,
};
