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
 * Provides:  congestion_policy.
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
#include "known_window.h"
#include "loss_epoch.h"

enum {
	TCP_CONGESTION_TAHOE,
	TCP_CONGESTION_RENO,
	TCP_CONGESTION_NEWRENO,
};
enum {
	TCP_CONGESTION_WINDOW,
	TCP_CONGESTION_THRESHOLD,
	TCP_CONGESTION_APP_LIMITED,
	TCP_CONGESTION_KNOWN,
};

struct tcp_congestion_parameters {
	int64_t variant;
	int64_t initial;
};

struct tcp_congestion {
	struct loss_epoch epoch;
	int64_t counted_bytes; /* acked in avoidance since the last growth */
	bool stalled;	       /* nothing was acked since the timeout */
};

/* The threshold becomes half of the window. */
static int64_t tcp_congestion_halve(struct nopal_session *session,
				    const struct nopal_part *part)
{
	int64_t window = nopal_shared(session, part, TCP_CONGESTION_WINDOW);
	int64_t half = loss_epoch_least(session, window / 2);

	nopal_share(session, part, TCP_CONGESTION_THRESHOLD, half);
	return half;
}

/* Was this departure out when the window was reduced for its likes already?
 * Reno forgets that with its recovery: the second loss of a window reduces
 * again, which is what newreno mends. */
static bool tcp_congestion_is_known(const struct tcp_congestion *tcp,
				    const struct tcp_congestion_parameters *set,
				    const struct nopal_segment *segment)
{
	if (set->variant == TCP_CONGESTION_RENO && !tcp->epoch.recovering &&
	    segment->packet_number >= tcp->epoch.timed_out_at)
		return false;
	return segment->packet_number < tcp->epoch.reduced_at;
}

static enum nopal_verdict tcp_congestion_on_lost(struct nopal_session *session,
						 const struct nopal_part *part,
						 struct nopal_segment *segment)
{
	const struct tcp_congestion_parameters *set = nopal_parameters(part);
	struct tcp_congestion *tcp = nopal_state(session, part);
	int64_t window;

	if (tcp_congestion_is_known(tcp, set, segment))
		return NOPAL_CONTINUE;
	window = tcp_congestion_halve(session, part);
	tcp->counted_bytes = 0;
	loss_epoch_begin(session, &tcp->epoch);
	if (set->variant == TCP_CONGESTION_TAHOE) {
		tcp->epoch.recovering = false;
		window = nopal_body_limit(session);
	}
	nopal_share(session, part, TCP_CONGESTION_WINDOW, window);
	return NOPAL_CONTINUE;
}

/* Nothing is lost, so acks go on to clock the window: tahoe halves it too. */
static enum nopal_verdict
tcp_congestion_on_marked(struct nopal_session *session,
			 const struct nopal_part *part,
			 struct nopal_session *subject)
{
	struct tcp_congestion *tcp = nopal_state(session, part);

	(void)subject;
	if (!loss_epoch_marked(
		    session, &tcp->epoch,
		    nopal_shared(session, part, TCP_CONGESTION_WINDOW)))
		return NOPAL_CONTINUE;
	tcp->counted_bytes = 0;
	nopal_share(session, part, TCP_CONGESTION_WINDOW,
		    tcp_congestion_halve(session, part));
	return NOPAL_CONTINUE;
}

/* One timeout raises the event for all that is overdue; only the first counts.
 * The threshold stays where the timeout before made no difference (RFC 5681,
 * section 3.1). */
static enum nopal_verdict
tcp_congestion_on_timeout(struct nopal_session *session,
			  const struct nopal_part *part,
			  struct nopal_segment *segment)
{
	struct tcp_congestion *tcp = nopal_state(session, part);

	if (!loss_epoch_timed_out(session, &tcp->epoch, segment))
		return NOPAL_CONTINUE;
	if (!tcp->stalled)
		tcp_congestion_halve(session, part);
	tcp->counted_bytes = 0;
	tcp->stalled = true;
	nopal_share(session, part, TCP_CONGESTION_WINDOW,
		    nopal_body_limit(session));
	return NOPAL_CONTINUE;
}

static void tcp_congestion_grow(struct nopal_session *session,
				const struct nopal_part *part, int64_t acked)
{
	struct tcp_congestion *tcp = nopal_state(session, part);
	int64_t window = nopal_shared(session, part, TCP_CONGESTION_WINDOW);
	int64_t threshold =
		nopal_shared(session, part, TCP_CONGESTION_THRESHOLD);

	window = additive_increase(&tcp->counted_bytes, window, threshold,
				   acked, nopal_body_limit(session));
	nopal_share(session, part, TCP_CONGESTION_WINDOW, window);
}

static bool tcp_congestion_is_resolved(struct nopal_session *session,
				       const struct nopal_part *part,
				       const struct nopal_ack *ack)
{
	const struct tcp_congestion_parameters *set = nopal_parameters(part);
	const struct tcp_congestion *tcp = nopal_state(session, part);

	if (set->variant == TCP_CONGESTION_RENO)
		return ack->largest >= tcp->epoch.reduced_at;
	return nopal_oldest_departure(session) >= tcp->epoch.reduced_at;
}

static enum nopal_verdict tcp_congestion_on_ack(struct nopal_session *session,
						const struct nopal_part *part,
						struct nopal_ack *ack)
{
	struct tcp_congestion *tcp = nopal_state(session, part);

	if (!ack->newly_acked_bytes)
		return NOPAL_CONTINUE;
	tcp->stalled = false;
	if (tcp->epoch.recovering)
		tcp->epoch.recovering =
			!tcp_congestion_is_resolved(session, part, ack);
	else if (!nopal_shared(session, part, TCP_CONGESTION_APP_LIMITED))
		tcp_congestion_grow(session, part,
				    (int64_t)ack->newly_acked_bytes);
	return NOPAL_CONTINUE;
}

static int tcp_congestion_open(struct nopal_session *session,
			       const struct nopal_part *part)
{
	const struct tcp_congestion_parameters *set = nopal_parameters(part);

	nopal_share(session, part, TCP_CONGESTION_WINDOW, set->initial);
	return 0;
}

static enum nopal_verdict
tcp_congestion_on_open_session(struct nopal_session *session,
			       const struct nopal_part *part,
			       struct nopal_session *subject)
{
	(void)subject;
	known_window_begin(session, part, TCP_CONGESTION_WINDOW,
			   TCP_CONGESTION_KNOWN);
	return NOPAL_CONTINUE;
}

static const struct nopal_parameter tcp_congestion_table[] = {
	{ .name = "variant",
	  .unit = NOPAL_WORD,
	  .offset = offsetof(struct tcp_congestion_parameters, variant),
	  .initial = "newreno",
	  .choices = "tahoe|reno|newreno",
	  .doc = "what a loss does" },
	{ .name = "initial",
	  .unit = NOPAL_SIZE,
	  .offset = offsetof(struct tcp_congestion_parameters, initial),
	  .initial = "10seg",
	  .least = "1seg",
	  .most = "1000seg",
	  .doc = "first window (RFC 6928: ten segments)" },
	{ 0 },
};

static const struct nopal_binding tcp_congestion_bindings[] = {
	NOPAL_ON(OPEN_SESSION, tcp_congestion_on_open_session,
		 .before = "connection"),
	/* Before what is lost is asked to leave again. */
	NOPAL_ON(SEGMENT_LOST, tcp_congestion_on_lost, .kinds = NOPAL_CARRIED,
		 .before = "reliability"),
	NOPAL_ON(SEGMENT_TIMEOUT, tcp_congestion_on_timeout,
		 .kinds = NOPAL_CARRIED, .before = "reliability"),
	NOPAL_ON(ACK_PROCESSED, tcp_congestion_on_ack,
		 .after = "loss_detection"),
	NOPAL_ON(CONGESTION_MARKED, tcp_congestion_on_marked),
	{ 0 },
};

const struct nopal_microprotocol nopal_tcp_congestion = {
	.abi = NOPAL_ABI,
	.name = "tcp_congestion",
	.family = "congestion",
	.summary = "the congestion window as TCP has it: tahoe, reno, newreno",
	.provides = (const struct nopal_role[]){ { "congestion_policy", true },
						 { 0 } },
	.needs =
		(const struct nopal_relation[]){
			{ "acknowledgement",
			  "it acts on what arrived and what did not" },
			{ "window_mechanism",
			  "somebody has to keep the window" },
			{ 0 } },
	.parameters_size = sizeof(struct tcp_congestion_parameters),
	.parameters = tcp_congestion_table,
	.shared =
		(const struct nopal_shared[]){
			[TCP_CONGESTION_WINDOW] = { "congestion_window_bytes",
						    NOPAL_WRITE, 0,
						    "room on the network" },
			[TCP_CONGESTION_THRESHOLD] = { "slow_start_threshold_"
						       "bytes",
						       NOPAL_WRITE, INT64_MAX,
						       "slow start below it" },
			[TCP_CONGESTION_APP_LIMITED] = { "app_limited",
							 NOPAL_READ_OPTIONAL, 0,
							 "1: the window was "
							 "not what "
							 "limited us" },
			[TCP_CONGESTION_KNOWN] = { "known_window_bytes",
						   NOPAL_READ_OPTIONAL, 0,
						   "of earlier sessions" },
			{ 0 } },
	.bindings = tcp_congestion_bindings,
	.state_size = sizeof(struct tcp_congestion),
	.open = tcp_congestion_open,
};
