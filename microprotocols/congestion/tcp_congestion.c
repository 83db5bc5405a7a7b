/* SPDX-License-Identifier: MIT */
/*
 * tcp_congestion -- the congestion window as TCP has it: tahoe, reno, newreno.
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
 * Needs:     acknowledgement, window_mechanism.
 * Provides:  congestion_policy, window_policy.
 * Excludes:  nothing.
 * Handles:   OPEN_SESSION, SEGMENT_LOST, SEGMENT_TIMEOUT, ACK_PROCESSED,
 *            CONGESTION_MARKED.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      nothing.
 * Shares:    writes congestion_window_bytes, slow_start_threshold_bytes; reads
 *            app_limited, known_window_bytes (optional, 0): the first window, where
 *            it is larger.
 * Parameters: variant (default newreno), initial (default 10seg): first window.
 */
#include "additive_increase.h"
#include "window_policy.h"

enum {
	TCP_CONGESTION_TAHOE,
	TCP_CONGESTION_RENO,
	TCP_CONGESTION_NEWRENO,
};

struct tcp_congestion_parameters {
	struct window_policy_parameters policy;
	int64_t variant;
};

struct tcp_congestion {
	struct window_policy policy;
	int64_t counted_bytes; /* acked in avoidance since the last growth */
	bool stalled;	       /* nothing was acked since the timeout */
};

static int64_t tcp_congestion_kept(struct nopal_at at, int64_t window)
{
	struct tcp_congestion *tcp = nopal_state(at);

	tcp->counted_bytes = 0;
	return window / 2;
}

/* Was this departure out when the window was reduced for its likes already? Reno forgets that with
 * its recovery: the second loss of a window reduces again, which is what newreno mends. */
static bool tcp_congestion_is_known(const struct tcp_congestion *tcp,
				    const struct tcp_congestion_parameters *set,
				    const struct nopal_segment *segment)
{
	if (set->variant == TCP_CONGESTION_RENO && !tcp->policy.epoch.recovering &&
	    segment->packet_number >= tcp->policy.epoch.timed_out_at)
		return false;
	return segment->packet_number < tcp->policy.epoch.reduced_at;
}

static enum nopal_verdict tcp_congestion_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	const struct tcp_congestion_parameters *set = nopal_parameters(at);
	struct tcp_congestion *tcp = nopal_state(at);

	if (tcp_congestion_is_known(tcp, set, segment))
		return NOPAL_CONTINUE;
	window_policy_reduce(at, tcp_congestion_kept);
	loss_epoch_begin(at.session, &tcp->policy.epoch);
	if (set->variant == TCP_CONGESTION_TAHOE) {
		tcp->policy.epoch.recovering = false;
		nopal_share(at, WINDOW_POLICY_WINDOW, nopal_body_limit(at.session));
	}
	return NOPAL_CONTINUE;
}

/* Nothing is lost, so acks go on to clock the window: tahoe halves it too. */
static enum nopal_verdict tcp_congestion_on_marked(struct nopal_at at,
						   struct nopal_session *subject)
{
	(void)subject;
	return window_policy_marked(at, tcp_congestion_kept);
}

/* One timeout raises the event for all that is overdue; only the first counts. The threshold stays
 * where the timeout before made no difference (RFC 5681, section 3.1). */
static enum nopal_verdict tcp_congestion_on_timeout(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct tcp_congestion *tcp = nopal_state(at);

	if (!loss_epoch_timed_out(at.session, &tcp->policy.epoch, segment))
		return NOPAL_CONTINUE;
	if (!tcp->stalled)
		window_policy_reduce(at, tcp_congestion_kept);
	tcp->counted_bytes = 0;
	tcp->stalled = true;
	nopal_share(at, WINDOW_POLICY_WINDOW, nopal_body_limit(at.session));
	return NOPAL_CONTINUE;
}

static void tcp_congestion_grow(struct nopal_at at, int64_t acked)
{
	struct tcp_congestion *tcp = nopal_state(at);
	int64_t window = nopal_shared(at, WINDOW_POLICY_WINDOW);
	int64_t threshold = nopal_shared(at, WINDOW_POLICY_THRESHOLD);

	window = additive_increase(&tcp->counted_bytes, window, threshold, acked,
				   nopal_body_limit(at.session));
	nopal_share(at, WINDOW_POLICY_WINDOW, window);
}

static bool tcp_congestion_is_resolved(struct nopal_at at, const struct nopal_ack *ack)
{
	const struct tcp_congestion_parameters *set = nopal_parameters(at);
	const struct tcp_congestion *tcp = nopal_state(at);

	if (set->variant == TCP_CONGESTION_RENO)
		return ack->largest >= tcp->policy.epoch.reduced_at;
	return nopal_oldest_departure(at.session) >= tcp->policy.epoch.reduced_at;
}

static enum nopal_verdict tcp_congestion_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	struct tcp_congestion *tcp = nopal_state(at);

	if (!ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	tcp->stalled = false;
	if (tcp->policy.epoch.recovering)
		tcp->policy.epoch.recovering = !tcp_congestion_is_resolved(at, ack);
	else if (!nopal_shared(at, WINDOW_POLICY_APP_LIMITED))
		tcp_congestion_grow(at, (int64_t)ack->newly_acked_bytes);
	return NOPAL_CONTINUE;
}

static const struct nopal_parameter tcp_congestion_parameters[] = {
	NOPAL_WORDS(tcp_congestion, variant, "variant", "newreno", "tahoe|reno|newreno",
		    "what a loss does"),
	WINDOW_POLICY_PARAMETERS,
	{ 0 },
};

static const struct nopal_binding tcp_congestion_bindings[] = {
	WINDOW_POLICY_BEGINS,
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, tcp_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, tcp_congestion_on_timeout, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, tcp_congestion_on_ack, .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, tcp_congestion_on_marked),
	{ 0 },
};

static const struct nopal_shared tcp_congestion_shared[] = {
	WINDOW_POLICY_SHARED,
	{ 0 },
};

const struct nopal_microprotocol nopal_tcp_congestion = {
	.abi = NOPAL_ABI,
	.name = "tcp_congestion",
	.family = "congestion",
	.summary = "the congestion window as TCP has it: tahoe, reno, newreno",
	.provides = window_policy_provides,
	.needs = window_policy_needs,
	.promises = window_policy_promises,
	.parameters_size = sizeof(struct tcp_congestion_parameters),
	.parameters = tcp_congestion_parameters,
	.shared = tcp_congestion_shared,
	.bindings = tcp_congestion_bindings,
	.state_size = sizeof(struct tcp_congestion),
	.open = window_policy_open,
};
