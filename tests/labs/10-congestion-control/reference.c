/* SPDX-License-Identifier: MIT */
/*
 * reference.c -- window_policy: AIMD, and a rule that keeps queues short; the reference solution of
 * lab 10.
 *
 *   aimd   window
 *          |        /|        /|
 *          |      /  |      /  |         + 2 segments a round trip
 *          |    /    |    /    |         * 2/3 at a loss, once a round trip
 *          |  /      |  /      |  /
 *          +---------------------------> time
 *
 *   own    the window is what the path carried without a queue, and a few segments more: once a
 *          round trip it grows by a segment while fewer than 2 wait in the queue, and shrinks by one
 *          while more than 4 do.  A loss is answered as in aimd.
 */
#include <nopal/microprotocol.h>

/* its shared variables */
enum {
	WINDOW_POLICY_WINDOW,
	WINDOW_POLICY_APP_LIMITED,
	WINDOW_POLICY_RTT,
	WINDOW_POLICY_MIN_RTT,
};
enum { WINDOW_POLICY_AIMD, WINDOW_POLICY_OWN }; /* rule */
enum {
	WINDOW_POLICY_INCREASE = 2, /* segments a round trip */
	WINDOW_POLICY_MIN = 2,	    /* segments */
	WINDOW_POLICY_FEW = 2,	    /* segments in the queue: own */
	WINDOW_POLICY_MANY = 4,
};

struct window_policy_parameters {
	int64_t rule, initial;
};

struct window_policy {
	bool began;	     /* there was a loss */
	uint64_t reduced_at; /* packets below had left at the last reduction */
	uint64_t round_ends; /* own: the packet whose ack ends the round trip */
};

static bool window_policy_is_own(struct nopal_at at)
{
	const struct window_policy_parameters *set = nopal_parameters(at);

	return set->rule == WINDOW_POLICY_OWN;
}

/* Once for all that left before the reduction. */
static enum nopal_verdict window_policy_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct window_policy *self = nopal_state(at);
	int64_t kept = nopal_shared_get(at, WINDOW_POLICY_WINDOW) * 2 / 3;
	int64_t min = WINDOW_POLICY_MIN * (int64_t)nopal_body_limit(at.session);

	if (self->began && segment->packet_number < self->reduced_at)
		return NOPAL_CONTINUE;
	self->began = true;
	self->reduced_at = nopal_next_packet_number(at.session);
	nopal_shared_set(at, WINDOW_POLICY_WINDOW, kept > min ? kept : min);
	return NOPAL_CONTINUE;
}

/* Segments that wait in the queue: the part of the window beyond what the path holds. */
static int64_t window_policy_queued(struct nopal_at at)
{
	int64_t rtt_ns = nopal_shared_get(at, WINDOW_POLICY_RTT);
	int64_t min_ns = nopal_shared_get(at, WINDOW_POLICY_MIN_RTT);
	uint64_t window = (uint64_t)nopal_shared_get(at, WINDOW_POLICY_WINDOW);

	if (rtt_ns <= min_ns)
		return 0;
	return (int64_t)nopal_scale(window, (uint64_t)(rtt_ns - min_ns), (uint64_t)rtt_ns) /
	       nopal_body_limit(at.session);
}

static void window_policy_own(struct nopal_at at, const struct nopal_ack *ack)
{
	struct window_policy *self = nopal_state(at);
	int64_t segment = nopal_body_limit(at.session), queued = window_policy_queued(at);
	int64_t window = nopal_shared_get(at, WINDOW_POLICY_WINDOW);

	if (!self->began && queued < WINDOW_POLICY_FEW) {
		nopal_shared_set(at, WINDOW_POLICY_WINDOW,
				 window + (int64_t)ack->newly_acked_bytes);
		return;
	}
	self->began = true;
	if (ack->largest < self->round_ends)
		return;
	self->round_ends = nopal_next_packet_number(at.session);
	if (queued < WINDOW_POLICY_FEW)
		nopal_shared_set(at, WINDOW_POLICY_WINDOW, window + segment);
	else if (queued > WINDOW_POLICY_MANY && window > WINDOW_POLICY_MIN * segment)
		nopal_shared_set(at, WINDOW_POLICY_WINDOW, window - segment);
}

/* Nothing is learnt while the application leaves the window unused. */
static enum nopal_verdict window_policy_on_acked(struct nopal_at at, struct nopal_ack *ack)
{
	const struct window_policy *self = nopal_state(at);
	int64_t *window = &nopal_shared_get(at, WINDOW_POLICY_WINDOW);
	uint64_t step = WINDOW_POLICY_INCREASE * nopal_body_limit(at.session);

	if (nopal_shared_get(at, WINDOW_POLICY_APP_LIMITED) || !ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	if (window_policy_is_own(at))
		window_policy_own(at, ack);
	else if (self->began)
		*window += (int64_t)nopal_scale(ack->newly_acked_bytes, step, (uint64_t)*window);
	else
		*window += (int64_t)ack->newly_acked_bytes;
	return NOPAL_CONTINUE;
}

static int window_policy_open(struct nopal_at at)
{
	const struct window_policy_parameters *set = nopal_parameters(at);

	nopal_shared_set(at, WINDOW_POLICY_WINDOW, set->initial);
	return 0;
}

const struct nopal_microprotocol nopal_window_policy = {
	NOPAL_DESCRIBE(window_policy, labs, "a congestion window: AIMD, or a rule of one's own"),
	.provides = NOPAL_ROLES({ "congestion_policy", true }, { "window_policy" }),
	.needs = NOPAL_RELATIONS({ "window_mechanism", "it keeps to the window" },
				 { "loss_detection", "losses reduce the window" },
				 { "rtt", "a queue shows in round trips" }),
	.promises = NOPAL_PROMISES(NOPAL_CONGESTION_CONTROLLED),
	.parameters_size = sizeof(struct window_policy_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_WORDS(window_policy, rule, "rule", "aimd", "aimd|own",
			    "additive increase, multiplicative decrease; or a rule of one's own"),
		NOPAL_NUMBER(window_policy, initial, "initial", SIZE, "10seg", "1seg", "1000seg",
			     "first window")),
	.shared = NOPAL_SHARED(
		[WINDOW_POLICY_WINDOW] = { "congestion_window_bytes", NOPAL_WRITE, 0,
					   "room on the network" },
		[WINDOW_POLICY_APP_LIMITED] = { "app_limited", NOPAL_READ_OPTIONAL, 0,
						"1: the application leaves the window unused" },
		[WINDOW_POLICY_RTT] = { "smoothed_rtt_ns", NOPAL_READ, 0,
					"with the time in queues" },
		[WINDOW_POLICY_MIN_RTT] = { "minimum_rtt_ns", NOPAL_READ, 0, "without queues" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEGMENT_LOST, window_policy_on_lost, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(SEGMENT_TIMEOUT, window_policy_on_lost, .kinds = NOPAL_CARRIED,
			 .before = "reliability"),
		NOPAL_ON(ACK_PROCESSED, window_policy_on_acked, .after = "loss_detection")),
	.state_size = sizeof(struct window_policy),
	.open = window_policy_open,
};
