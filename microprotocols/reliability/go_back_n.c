/* SPDX-License-Identifier: MIT */
/*
 * go_back_n -- go-back-N retransmission: the peer takes only the next segment.
 *
 * A segment that times out leaves again with all that left after it.
 * The receiver keeps nothing out of sequence, so its acknowledgements are one number.  With a
 * window of 1 this is stop-and-wait.
 *
 *   sender, window 4                        receiver
 *   data 7 ------------------------------>  7 is the next, and taken
 *   data 8 -------------- x                 (8 is lost)
 *   data 9 ------------------------------>  9 is not the next: discarded
 *   data 10 ----------------------------->  and so is 10
 *        <------------- ack 8, ack 8, ack 8
 *   the timer of 8 expires: 8, 9 and 10 leave again
 *
 * Paper:     the one-to-many protocol, sections 3.1 to 3.3, 3.7 and 4.4.3: its
 *            variant of Go-Back-N, whose packet queue is this window.
 * Differs:   acknowledgements are decided once a turn, not for each packet, and
 *            ride on data that leaves then.  The wait doubles while nothing moves
 *            (`backoff` 0 is the paper's), and follows measured round trips: a fixed
 *            wait that is shorter than the path sends every window twice, and a much
 *            longer one stands still after each loss.  A loss that a detector finds
 *            goes back at once.  A receiver without room repeats its acknowledgement
 *            where the paper's is silent: neither moves the sender.
 * Wire:      ack: no body; cumulative_ack is the number that the peer waits for, modulo 2^32.
 */
#include "../base/held.h"
#include "../status/outstanding.h"

struct go_back_n_parameters {
	int64_t window, timeout_ns, backoff, attempts, piggyback, buffer;
};

/* attributes */
enum {
	GO_BACK_N_NUMBER = HELD_NEXT,
	GO_BACK_N_CUMULATIVE,
	GO_BACK_N_CUMULATIVE_ALONE, /* the same, on what carries nothing else */
};
/* shared variables */
enum { GO_BACK_N_UNMET, GO_BACK_N_LOCAL, GO_BACK_N_PEER, GO_BACK_N_TIMEOUT };
enum { GO_BACK_N_ACK };	      /* kinds */
enum { GO_BACK_N_TIMED_OUT }; /* timers */
enum { GO_BACK_N_NUMBER_BYTES = 4 };

struct go_back_n {
	struct held held; /* of what the peer sends */

	/* of what we send */
	struct outstanding sent;
	struct nopal_queue waiting; /* beyond the window */
	uint64_t cumulative;	    /* the peer waits for this number */
	uint64_t back;		    /* where to go back to */
	bool lost;		    /* do so when the turn ends */
	bool asking;		    /* it is this part that asks for a resend */
	bool reported;		    /* something was acknowledged */
	uint32_t vain;		    /* waits since the cumulative ack moved */
	uint64_t largest;	    /* packet number that was acknowledged */
	int64_t moved_ns;	    /* when the cumulative ack moved, or all left again */
	int64_t due_ns;		    /* when the timer fires */

	/* of what the peer sends */
	uint64_t next; /* the only number that is taken */
	bool owed;     /* something came since the last acknowledgement */
};

/* --------------------------------------------------------- the sender: leaving */

static bool go_back_n_in_window(struct nopal_at at, const struct go_back_n *self,
				const struct nopal_segment *segment)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);

	return nopal_get(at, segment, GO_BACK_N_NUMBER) < self->cumulative + (uint64_t)set->window;
}

/* Nothing is urgent: what overtakes is discarded. */
static enum nopal_verdict go_back_n_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct go_back_n *self = nopal_state(at);

	segment->urgent = false;
	if (!self->waiting.count && go_back_n_in_window(at, self, segment))
		nopal_release(at, segment, NOPAL_SEND);
	else if (nopal_queue_push(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room for a segment that waits");
	return NOPAL_CONTINUE;
}

/* A resend that another microprotocol asks for is in the window, and leaves. */
static enum nopal_verdict go_back_n_on_resend(struct nopal_at at, struct nopal_segment *segment)
{
	const struct go_back_n *self = nopal_state(at);

	if (!self->asking)
		nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------------- waiting */

static int64_t go_back_n_wait(struct nopal_at at)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	const struct go_back_n *self = nopal_state(at);
	int64_t measured_ns = nopal_shared_get(at, GO_BACK_N_TIMEOUT);
	int64_t doublings = self->vain < set->backoff ? self->vain : set->backoff;

	return (measured_ns ? measured_ns : set->timeout_ns) << doublings;
}

static void go_back_n_watch(struct nopal_at at, int64_t due_ns)
{
	struct go_back_n *self = nopal_state(at);

	self->due_ns = due_ns;
	nopal_timer_start(at, GO_BACK_N_TIMED_OUT, due_ns);
}

/* When the oldest will have waited too long; NOPAL_NEVER: nothing is outstanding. One that waits to
 * leave has not begun to. */
static int64_t go_back_n_deadline(struct nopal_at at)
{
	const struct go_back_n *self = nopal_state(at);
	const struct nopal_segment *oldest =
		outstanding_find(at.session, &self->sent, self->sent.base);
	int64_t since_ns;

	if (!oldest)
		return NOPAL_NEVER;
	since_ns = oldest->wanted ? at.session->now_ns : oldest->transmitted_ns;
	if (since_ns < self->moved_ns)
		since_ns = self->moved_ns;
	return since_ns + go_back_n_wait(at);
}

static enum nopal_verdict go_back_n_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	struct go_back_n *self = nopal_state(at);
	int64_t due_ns = at.session->now_ns + go_back_n_wait(at);

	if (segment->transmissions == 1)
		outstanding_track(at.session, &self->sent, nopal_get(at, segment, GO_BACK_N_NUMBER),
				  segment);
	if (set->piggyback) {
		nopal_set(at, segment, GO_BACK_N_CUMULATIVE, self->next);
		self->owed = false;
	}
	if (!nopal_timer_running(at, GO_BACK_N_TIMED_OUT) || due_ns < self->due_ns)
		go_back_n_watch(at, due_ns);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------------- going back */

/* Open transmissions are off the network: the one that is timed out or lost, and all after it,
 * which the peer discards.  The status of all is settled before the first asks to leave: gates
 * count segments on their way. */
static void go_back_n_back(struct nopal_at at, uint64_t from, bool timed_out)
{
	struct go_back_n *self = nopal_state(at);
	struct nopal_segment *segment;

	for (uint64_t number = from; number < self->sent.end; number++) {
		const struct nopal_transmission *last = NULL;

		segment = outstanding_find(at.session, &self->sent, number);
		if (segment)
			last = nopal_transmission_find(at.session, segment->packet_number);
		if (!last || !last->open)
			continue;
		nopal_segment_settle(at.session, segment);
		if (timed_out)
			nopal_raise_SEGMENT_TIMEOUT(at.session, segment);
		else
			nopal_raise_SEGMENT_LOST(at.session, segment);
	}
	self->asking = true;
	for (uint64_t number = from; number < self->sent.end; number++) {
		segment = outstanding_find(at.session, &self->sent, number);
		if (segment)
			nopal_segment_resend(at, segment);
	}
	self->asking = false;
	self->lost = false;
	self->moved_ns = at.session->now_ns;
}

/* The timer is not moved with every transmission; it looks when it fires. */
static void go_back_n_when_timed_out(struct nopal_at at)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	struct go_back_n *self = nopal_state(at);
	int64_t deadline_ns = go_back_n_deadline(at);

	if (deadline_ns <= at.session->now_ns) {
		if (++self->vain >= set->attempts) {
			nopal_session_break(at.session, NOPAL_GAVE_UP,
					    "the peer fell silent: a segment used up its attempts");
			return;
		}
		go_back_n_back(at, self->sent.base, true);
		deadline_ns = go_back_n_deadline(at);
	}
	if (deadline_ns != NOPAL_NEVER)
		go_back_n_watch(at, deadline_ns);
}

static enum nopal_verdict go_back_n_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct go_back_n *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, GO_BACK_N_NUMBER);

	if (!self->lost || number < self->back)
		self->back = number;
	self->lost = true;
	return NOPAL_CONTINUE;
}

/* Goes back, and fills the window, before gates look at the segments that wait. */
static enum nopal_verdict go_back_n_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	struct go_back_n *self = nopal_state(at);
	struct nopal_segment *segment;

	(void)subject;
	if (self->lost)
		go_back_n_back(at, self->back, false);
	while (self->waiting.count && (segment = nopal_queue_first(at.session, &self->waiting)) &&
	       go_back_n_in_window(at, self, segment)) {
		nopal_queue_pop(&self->waiting);
		nopal_release(at, segment, NOPAL_SEND);
	}
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------- acknowledged */

static enum nopal_verdict go_back_n_on_settled(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_DONE);
	nopal_release(at, segment, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

/* The segment below the cumulative ack came last.  Which of its transmissions it was shows only
 * where there was one.  The order of raises is part of the contract of the role acknowledgement. */
static void go_back_n_process(struct nopal_at at, uint64_t cumulative)
{
	struct go_back_n *self = nopal_state(at);
	const struct nopal_segment *last =
		outstanding_find(at.session, &self->sent, cumulative - 1);
	struct nopal_ack ack = {
		.cumulative = cumulative,
		.largest = self->largest,
		.largest_sent_ns = -1,
	};

	if (last && (!self->reported || last->packet_number > self->largest)) {
		if (last->transmissions == 1)
			ack.largest_sent_ns = last->transmitted_ns;
		ack.largest = last->packet_number;
		ack.largest_is_new = true;
		self->largest = ack.largest;
		self->reported = true;
	}
	nopal_raise_ACK_FROM_NET(at.session, &ack);
	while (self->sent.base < cumulative) {
		uint64_t number = self->sent.base;
		struct nopal_segment *segment = outstanding_find(at.session, &self->sent, number);

		outstanding_take(&self->sent, number);
		if (!segment)
			continue;
		segment->outcome = NOPAL_OUTCOME_DELIVERED;
		nopal_segment_settle(at.session, segment);
		ack.newly_acked_segments++;
		ack.newly_acked_bytes += segment->body.length;
		nopal_raise_SEGMENT_RECEIVED(at.session, segment);
	}
	self->cumulative = cumulative;
	self->vain = 0;
	self->moved_ns = at.session->now_ns;
	if (outstanding_is_open(&self->sent, cumulative))
		ack.cumulative_segment = outstanding_at(&self->sent, cumulative);
	nopal_raise_ACK_PROCESSED(at.session, &ack);
}

/* From one past the cumulative ack to one past what has left: everything else is outside of the
 * window, late or forged, and ignored. */
static void go_back_n_take_cumulative(struct nopal_at at, uint64_t wire)
{
	const struct go_back_n *self = nopal_state(at);
	uint32_t ahead = (uint32_t)wire - (uint32_t)self->cumulative;
	int64_t deadline_ns;

	if (!ahead || ahead > self->sent.end - self->cumulative)
		return;
	go_back_n_process(at, self->cumulative + ahead);
	deadline_ns = go_back_n_deadline(at);
	if (deadline_ns < self->due_ns)
		go_back_n_watch(at, deadline_ns);
}

static enum nopal_verdict go_back_n_on_ack(struct nopal_at at, struct nopal_segment *segment)
{
	go_back_n_take_cumulative(at, nopal_get(at, segment, GO_BACK_N_CUMULATIVE_ALONE));
	return NOPAL_STOP;
}

/* --------------------------------------------------------------- the receiver */

/* The next segment is taken where there is room; one message always is, however large. */
static enum nopal_verdict go_back_n_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	struct go_back_n *self = nopal_state(at);

	if (set->piggyback)
		go_back_n_take_cumulative(at, nopal_get(at, segment, GO_BACK_N_CUMULATIVE));
	if (nopal_get(at, segment, GO_BACK_N_NUMBER) == self->next &&
	    (!self->held.bytes || self->held.bytes < set->buffer))
		return NOPAL_CONTINUE;
	self->owed = true;
	return NOPAL_STOP;
}

/* Only what passed the filters is ever acknowledged. */
static enum nopal_verdict go_back_n_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	struct go_back_n *self = nopal_state(at);

	self->next = nopal_get(at, segment, GO_BACK_N_NUMBER) + 1;
	self->owed = true;
	return NOPAL_CONTINUE;
}

/* An acknowledgement leaves once a turn, unless it rode on data before. */
static enum nopal_verdict go_back_n_on_told(struct nopal_at at, struct nopal_session *subject)
{
	struct go_back_n *self = nopal_state(at);
	struct nopal_segment *ack;

	(void)subject;
	if (!self->owed)
		return NOPAL_CONTINUE;
	ack = nopal_control_bare(at, GO_BACK_N_ACK);
	if (!ack)
		return NOPAL_CONTINUE;
	nopal_set(at, ack, GO_BACK_N_CUMULATIVE_ALONE, self->next);
	nopal_control_send(at.session, ack, 0);
	self->owed = false;
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------------- session */

static enum nopal_verdict go_back_n_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct go_back_n *self = nopal_state(at);

	(void)subject;
	self->cumulative = (uint64_t)nopal_shared_get(at, GO_BACK_N_LOCAL);
	self->next = (uint64_t)nopal_shared_get(at, GO_BACK_N_PEER);
	outstanding_begin(&self->sent, self->cumulative);
	return NOPAL_CONTINUE;
}

static void go_back_n_idle(struct nopal_at at)
{
	struct go_back_n *self = nopal_state(at);

	outstanding_idle(at.session, &self->sent);
	nopal_queue_idle(at.session, &self->waiting);
}

static const struct nopal_role go_back_n_provides[] = {
	{ "reliability", true }, { "acknowledgement", true }, { "retransmission_timer", true },
	{ "duplicate_filter" },	 { "in_sequence", true },     { 0 },
};

const struct nopal_microprotocol nopal_go_back_n = {
	NOPAL_DESCRIBE(go_back_n, reliability,
		       "go-back-N retransmission: the peer takes only the next segment"),
	.provides = go_back_n_provides,
	.standard = "in_sequence",
	.needs = NOPAL_RELATIONS({ "segment_numbers", "the next one is known by its number" }),
	.excludes = NOPAL_RELATIONS(
		{ "redundancy", "a repaired segment was discarded with all behind it" },
		{ "tfrc",
		  "its rate rises by round trips, and resends, as all are after an outage, tell none" },
		{ "partial_reliability",
		  "the peer takes the next segment only, and would wait for one that was given up" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_ALL,
		  "a segment that is not acknowledged is sent again, with all behind it" },
		{ NOPAL_OUTCOME, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_AT_TRANSPORT,
		  "the peer acknowledges the segments that it took" },
		{ NOPAL_DEATH, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_WHILE_SENDING,
		  "resends have an end", .bound = "attempts" },
		{ NOPAL_BUFFER, NOPAL_SENDING, NOPAL_GIVES, NOPAL_BOUNDED,
		  "a receiver without room takes nothing", .bound = "buffer" },
		NOPAL_NUMBERS_ONCE,
		{ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AS_SENT,
		  "the peer takes only the next segment" }),
	.parameters_size = sizeof(struct go_back_n_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* A larger window would make numbers modulo 2^32 ambiguous. */
		NOPAL_NUMBER(go_back_n, window, "window", COUNT, "128", "1", "2147483648",
			     "segments that may be outstanding"),
		NOPAL_NUMBER(go_back_n, timeout_ns, "timeout", TIME, "50ms", "1ms", "1min",
			     "how long to wait where nobody measures",
			     .waits = NOPAL_WAITS_DOUBLED),
		NOPAL_NUMBER(go_back_n, backoff, "backoff", COUNT, "6", "0", "16",
			     "doublings of the wait while nothing moves",
			     .waits = NOPAL_WAITS_DOUBLINGS),
		NOPAL_NUMBER(go_back_n, attempts, "attempts", COUNT, "16", "1", "1000",
			     "waits in a row that may be in vain", .waits = NOPAL_WAITS_ATTEMPTS),
		NOPAL_ON_OFF(go_back_n, piggyback, "piggyback", "on",
			     "data carries the acknowledgement", .wire = true),
		NOPAL_NUMBER(
			go_back_n, buffer, "buffer", SIZE, "4MiB", "1B", "1GiB",
			"bytes of messages that the receiver holds; beyond it takes no segment")),
	.attributes =
		NOPAL_ATTRIBUTES([HELD_CHARGE] = { "buffer_charge", NOPAL_WRITE,
						   "bytes of the buffer that the message takes" },
				 [GO_BACK_N_NUMBER] = { "segment_number", NOPAL_READ },
				 [GO_BACK_N_CUMULATIVE] = { "cumulative_ack", NOPAL_WRITE,
							    "the number that is waited for",
							    .wire_bytes = GO_BACK_N_NUMBER_BYTES,
							    .kinds = NOPAL_DATA,
							    .when = "piggyback" },
				 [GO_BACK_N_CUMULATIVE_ALONE] = { "cumulative_ack", NOPAL_WRITE,
								  "the same",
								  .wire_bytes =
									  GO_BACK_N_NUMBER_BYTES,
								  .kinds = NOPAL_OWN_KIND +
									   GO_BACK_N_ACK }),
	.shared = NOPAL_SHARED([GO_BACK_N_UNMET] = { "reliability_unmet", NOPAL_WRITE, 1,
						     "1: an unseen segment is still needed" },
			       [GO_BACK_N_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL, 1,
						     "our first number" },
			       [GO_BACK_N_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
						    "the peer's first number" },
			       [GO_BACK_N_TIMEOUT] = { "timeout_ns", NOPAL_READ_OPTIONAL, 0,
						       "how long to wait for an acknowledgement" }),
	.kinds = NOPAL_KINDS([GO_BACK_N_ACK] = { "ack", NOPAL_KIND_CONTROL,
						 "the number that is waited for" }),
	.holds = NOPAL_HOLDS({ "it is in the window", NOPAL_SEND, NOPAL_DATA },
			     { "the peer has it", NOPAL_DONE, NOPAL_DATA },
			     { "the peer has it", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([GO_BACK_N_TIMED_OUT] = { "timed_out", go_back_n_when_timed_out }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SESSION_OPENED, go_back_n_on_opened),
		NOPAL_ON(SEGMENT_TO_NET, go_back_n_on_to_net,
			 .before = "flow_control|rate_mechanism|window_mechanism"),
		NOPAL_ON(SEND_SEGMENT, go_back_n_on_send),
		NOPAL_ON(SEGMENT_RESEND, go_back_n_on_resend,
			 .before = "rate_mechanism|window_mechanism"),
		/* A segment that is not taken now has not been seen. */
		NOPAL_ON(SEGMENT_FROM_NET, go_back_n_on_from_net, .before = "segment_numbers"),
		NOPAL_ON_OWN(GO_BACK_N_ACK, go_back_n_on_ack),
		NOPAL_ON(SEGMENT_VERIFIED, go_back_n_on_verified, .before = "message_segments"),
		NOPAL_ON(SEGMENT_RECEIVED, go_back_n_on_settled),
		NOPAL_ON(SEGMENT_LOST, go_back_n_on_lost), HELD_BINDINGS,
		NOPAL_ON(TURN_END, go_back_n_on_turn_end,
			 .before = "flow_control|rate_mechanism|window_mechanism"),
		NOPAL_ON(TURN_END, go_back_n_on_told, .after = "window_mechanism")),
	.raises =
		NOPAL_RAISES("ACK_FROM_NET", "SEGMENT_RECEIVED", "ACK_PROCESSED", "SEGMENT_TIMEOUT",
			     "SEGMENT_LOST", "SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct go_back_n),
	.idle = go_back_n_idle,
};
