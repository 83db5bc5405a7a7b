/* SPDX-License-Identifier: MIT */
/*
 * tcp_congestion -- TCP congestion control (RFC 5681): tahoe, reno, newreno.
 *
 *   slow start --threshold--> avoidance --lost--> recovery --resolved--> avoidance
 *        ^                                                                  |
 *        +------------------------ timeout (tahoe: or lost) ----------------+
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (b); Jacobson 1988;
 *            RFC 5681, RFC 6582 (newreno), RFC 3465 (byte counting).
 * Differs:   a recovery ends when every packet number that was out at the
 *            reduction is resolved, so it needs no retransmission; resends have
 *            numbers of their own.  There is no window inflation: what is lost
 *            has left the window already.  Half of the window, not of the
 *            flight, survives (RFC 9002, section 7.3.2).  Slow start counts all
 *            bytes of an ack, because one ack answers a batch.  A mark of
 *            congestion halves the window once a round trip, whatever the
 *            variant (RFC 3168, section 6.1.2).
 */
#include "window_rules.h"

enum { TCP_TAHOE, TCP_RENO, TCP_NEWRENO };

struct tcp_congestion_parameters {
	struct window_parameters window;
	int64_t variant;
};

struct tcp_congestion {
	struct loss_epoch epoch;
	int64_t counted_bytes; /* acked in avoidance since the last growth */
};

static bool tcp_is(struct nopal_at at, int64_t variant)
{
	const struct tcp_congestion_parameters *set = nopal_parameters(at);

	return set->variant == variant;
}

static int64_t tcp_grow(struct nopal_at at, int64_t window, int64_t acked)
{
	struct tcp_congestion *tcp = nopal_state(at);

	return window_rules_add(at, &tcp->counted_bytes, window, acked);
}

static int64_t tcp_keep(struct nopal_at at, int64_t window)
{
	struct tcp_congestion *tcp = nopal_state(at);

	tcp->counted_bytes = 0;
	return window / 2;
}

/* Reno forgets with its recovery which segments were out at the reduction: the second loss of a
 * window reduces again, which is what newreno mends. */
static bool tcp_begins(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct loss_epoch *epoch = nopal_state(at);
	bool forgot = tcp_is(at, TCP_RENO) && !epoch->recovering;

	return segment->packet_number >= (forgot ? epoch->timed_out_at : epoch->reduced_at);
}

static bool tcp_resolves(struct nopal_at at, const struct nopal_ack *ack)
{
	const struct loss_epoch *epoch = nopal_state(at);

	return tcp_is(at, TCP_RENO) ? ack->largest >= epoch->reduced_at
				    : loss_epoch_is_resolved(at.session, epoch);
}

static void tcp_reduced(struct nopal_at at)
{
	struct loss_epoch *epoch = nopal_state(at);

	if (!tcp_is(at, TCP_TAHOE))
		return;
	epoch->recovering = false;
	nopal_shared_set(at, WINDOW_BYTES, nopal_body_limit(at.session));
}

const struct nopal_microprotocol nopal_tcp_congestion = {
	NOPAL_DESCRIBE(tcp_congestion, congestion,
		       "TCP congestion control (RFC 5681): tahoe, reno, newreno"),
	WINDOW_RULES(tcp_congestion, WINDOW_NEEDS, .grow = tcp_grow, .keep = tcp_keep,
		     .begins = tcp_begins, .resolves = tcp_resolves, .reduced = tcp_reduced),
	.parameters_size = sizeof(struct tcp_congestion_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_WORDS(tcp_congestion, variant, "variant", "newreno",
						   "tahoe|reno|newreno", "the reaction to a loss"),
				       WINDOW_INITIAL),
	.shared = NOPAL_SHARED(WINDOW_SHARED),
};
