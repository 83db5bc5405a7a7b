/* SPDX-License-Identifier: MIT */
/*
 * retransmission_timer -- retransmission timer (RFC 6298): a segment without an ack times out.
 *
 * One timer watches the oldest transmission whose outcome is open.  When it has waited for the
 * timeout, counted from its transmission or from the last ack that brought news, whichever is
 * later, then all transmissions time out that left at least one timeout ago.  Each expiry without
 * news in between doubles the wait.
 *
 *   transmission ----- timeout -----> SEGMENT_TIMEOUT ---- 2 x timeout ----> SEGMENT_TIMEOUT ...
 *        |  ack with news: the wait begins anew, and is not doubled
 *
 * Paper:     RFC 6298, section 5.
 * Differs:   the timer is not restarted with each transmission and ack: it looks when it fires.  A
 *            transmission that has waited for four timeouts times out whatever other acks brought.
 *            Its segment need not be resent: without a part that does, it is missing.
 */
#include <nopal/microprotocol.h>

struct retransmission_timer_parameters {
	int64_t timeout_min_ns, timeout_max_ns, backoff;
};

struct retransmission_timer {
	int64_t doublings;   /* of the wait, since the last news */
	int64_t progress_ns; /* when an ack brought news last */
	int64_t due_ns;	     /* when the timer fires */
};

enum { RETRANSMISSION_TIMER_TIMEOUT };	    /* shared variables */
enum { RETRANSMISSION_TIMER_DUE };	    /* timers */
enum { RETRANSMISSION_TIMER_PATIENCE = 4 }; /* timeouts for which acks of others are waited for */

/* The timeout, not doubled. */
static int64_t retransmission_timer_wait(struct nopal_at at)
{
	const struct retransmission_timer_parameters *set = nopal_parameters(at);
	int64_t wait_ns = nopal_shared_get(at, RETRANSMISSION_TIMER_TIMEOUT);

	if (wait_ns > set->timeout_max_ns)
		return set->timeout_max_ns;
	return wait_ns > set->timeout_min_ns ? wait_ns : set->timeout_min_ns;
}

static int64_t retransmission_timer_backed_off(struct nopal_at at)
{
	const struct retransmission_timer_parameters *set = nopal_parameters(at);
	const struct retransmission_timer *self = nopal_state(at);
	int64_t wait_ns = retransmission_timer_wait(at);

	for (int64_t i = 0; i < self->doublings && wait_ns < set->timeout_max_ns; i++)
		wait_ns *= 2;
	return wait_ns < set->timeout_max_ns ? wait_ns : set->timeout_max_ns;
}

static void retransmission_timer_watch(struct nopal_at at, int64_t due_ns)
{
	struct retransmission_timer *self = nopal_state(at);

	self->due_ns = due_ns;
	nopal_timer_start(at, RETRANSMISSION_TIMER_DUE, due_ns);
}

static enum nopal_verdict retransmission_timer_on_send(struct nopal_at at,
						       struct nopal_segment *segment)
{
	(void)segment;
	if (!nopal_timer_running(at, RETRANSMISSION_TIMER_DUE))
		retransmission_timer_watch(at, at.session->now_ns +
						       retransmission_timer_backed_off(at));
	return NOPAL_CONTINUE;
}

/* When the oldest transmission will have waited too long; NOPAL_NEVER: none is open.  The part that
 * detects losses makes use of acks that tell of others, so each of them prolongs the wait; but not
 * for ever, for that part may have given up. */
static int64_t retransmission_timer_deadline(struct nopal_at at)
{
	const struct retransmission_timer *self = nopal_state(at);
	const struct nopal_transmission *oldest = NULL;
	uint64_t end = nopal_next_packet_number(at.session);
	int64_t wait_ns = retransmission_timer_backed_off(at);
	int64_t deadline_ns = self->progress_ns + wait_ns;

	for (uint64_t place = nopal_oldest_transmission(at.session);
	     place < end && (!oldest || !oldest->open); place++)
		oldest = nopal_transmission_find(at.session, place);
	if (!oldest || !oldest->open)
		return NOPAL_NEVER;
	if (deadline_ns > oldest->time_ns + RETRANSMISSION_TIMER_PATIENCE * wait_ns)
		deadline_ns = oldest->time_ns + RETRANSMISSION_TIMER_PATIENCE * wait_ns;
	if (deadline_ns < oldest->time_ns + wait_ns)
		deadline_ns = oldest->time_ns + wait_ns;
	return deadline_ns;
}

static enum nopal_verdict retransmission_timer_on_processed(struct nopal_at at,
							    struct nopal_ack *ack)
{
	struct retransmission_timer *self = nopal_state(at);
	int64_t deadline_ns;

	if (ack->newly_acked_segments) {
		self->progress_ns = at.session->now_ns;
		self->doublings = 0;
	}
	deadline_ns = retransmission_timer_deadline(at);
	if (deadline_ns < self->due_ns)
		retransmission_timer_watch(at, deadline_ns);
	return NOPAL_CONTINUE;
}

/* All transmissions that left a timeout ago have no outcome, and will have none. */
static void retransmission_timer_when_due(struct nopal_at at)
{
	const struct retransmission_timer_parameters *set = nopal_parameters(at);
	struct retransmission_timer *self = nopal_state(at);
	int64_t left_ns = at.session->now_ns - retransmission_timer_wait(at);
	int64_t deadline_ns = retransmission_timer_deadline(at);
	uint64_t place = nopal_oldest_transmission(at.session);
	uint64_t end = nopal_next_packet_number(at.session);

	if (deadline_ns <= at.session->now_ns) {
		if (self->doublings < set->backoff)
			self->doublings++;
		for (; place < end; place++) {
			const struct nopal_transmission *transmission =
				nopal_transmission_find(at.session, place);
			struct nopal_segment *segment;

			if (!transmission || !transmission->open)
				continue;
			if (transmission->time_ns > left_ns)
				break;
			segment = nopal_segment_find(at.session, transmission->segment);
			nopal_transmission_settle(at.session, place);
			if (segment)
				nopal_raise_SEGMENT_TIMEOUT(at.session, segment);
		}
		deadline_ns = retransmission_timer_deadline(at);
	}
	if (deadline_ns != NOPAL_NEVER)
		retransmission_timer_watch(at, deadline_ns);
}

static void retransmission_timer_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct retransmission_timer_parameters *set = parameters;

	if (set->timeout_max_ns < set->timeout_min_ns)
		nopal_problem(problems, "timeout_max",
			      "the longest wait is shorter than the shortest",
			      "make timeout_max at least timeout_min");
}

const struct nopal_microprotocol nopal_retransmission_timer = {
	NOPAL_DESCRIBE(retransmission_timer, status,
		       "retransmission timer (RFC 6298): a segment without an ack times out"),
	.provides = NOPAL_ROLES({ "retransmission_timer", true }),
	.standard = "retransmission_timer",
	.needs = NOPAL_RELATIONS({ "acknowledgement", "without acks each segment would time out" }),
	.parameters_size = sizeof(struct retransmission_timer_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(retransmission_timer, timeout_min_ns, "timeout_min", TIME, "1ms",
			     "1us", "1h", "the shortest wait, whatever the estimate"),
		NOPAL_NUMBER(retransmission_timer, timeout_max_ns, "timeout_max", TIME, "60s",
			     "1ms", "1h", "the longest wait for a status, doubled or not",
			     .waits = NOPAL_WAITS_LONGEST),
		NOPAL_NUMBER(retransmission_timer, backoff, "backoff", COUNT, "6", "0", "16",
			     "doublings of the wait without news")),
	.validate = retransmission_timer_validate,
	.shared = NOPAL_SHARED([RETRANSMISSION_TIMER_TIMEOUT] = { "timeout_ns", NOPAL_READ_OPTIONAL,
								  NOPAL_SECOND, "longest wait" }),
	.timers =
		NOPAL_TIMERS([RETRANSMISSION_TIMER_DUE] = { "due", retransmission_timer_when_due }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEND_SEGMENT, retransmission_timer_on_send, .kinds = NOPAL_CARRIED),
		/* After losses are detected: those transmissions have their outcome. */
		NOPAL_ON(ACK_PROCESSED, retransmission_timer_on_processed,
			 .after = "loss_detection")),
	.raises = NOPAL_RAISES("SEGMENT_TIMEOUT"),
	.state_size = sizeof(struct retransmission_timer),
};
