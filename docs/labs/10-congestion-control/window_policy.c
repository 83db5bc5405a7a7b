/* SPDX-License-Identifier: MIT */
/*
 * window_policy -- a congestion window: AIMD, or a rule of one's own (lab 10)
 *
 * As handed out, the window stays at its first value.
 */
#include <nopal/microprotocol.h>

/* its shared variables: nopal_shared_get(at, WINDOW_POLICY_WINDOW), nopal_shared_set(at, ..., n) */
enum {
	WINDOW_POLICY_WINDOW,	   /* bytes of bodies that may be in flight: yours to set */
	WINDOW_POLICY_APP_LIMITED, /* 1: the application leaves the window unused */
	WINDOW_POLICY_RTT,	   /* smoothed round trip in ns, with the time in queues */
	WINDOW_POLICY_MIN_RTT,	   /* the shortest one: without queues */
};
enum { WINDOW_POLICY_AIMD, WINDOW_POLICY_OWN }; /* rule */

struct window_policy_parameters {
	int64_t rule;
	int64_t initial; /* first window, in bytes */
};

/* One for each session, zeroed; nopal_state(at) finds it. */
struct window_policy {
	bool began;	     /* there was a loss */
	uint64_t reduced_at; /* packets below had left when the window was last reduced */
};

/* Part 1.  The segment was lost, or timed out; segment->packet_number is the number of the
 * transmission that was lost, and nopal_next_packet_number(at.session) that of the next.  A full
 * segment has nopal_body_limit(at.session) bytes. */
static enum nopal_verdict window_policy_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Part 1.  An ack says that ack->newly_acked_bytes have arrived since the ack before.
 * nopal_scale(a, b, c) is a * b / c without overflow.
 * Part 2.  The same where nopal_parameters(at)->rule is WINDOW_POLICY_OWN. */
static enum nopal_verdict window_policy_on_acked(struct nopal_at at, struct nopal_ack *ack)
{
	(void)at, (void)ack;
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
