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
#include "go_back_n.h"

/* --------------------------------------------------------------- the receiver */

/* The next segment is taken where there is room; one message always is, however large. */
static enum nopal_verdict go_back_n_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	struct go_back_n *self = nopal_state(at);

	if (set->piggyback)
		nopal__go_back_sender_take_cumulative(at,
						      nopal_get(at, segment, GO_BACK_N_CUMULATIVE));
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
			     "how long to wait where nobody measures"),
		NOPAL_NUMBER(go_back_n, backoff, "backoff", COUNT, "6", "0", "16",
			     "doublings of the wait while nothing moves"),
		NOPAL_NUMBER(go_back_n, attempts, "attempts", COUNT, "16", "1", "1000",
			     "waits in a row that may be in vain"),
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
	.timers = NOPAL_TIMERS([GO_BACK_N_TIMED_OUT] = { "timed_out",
							 nopal__go_back_sender_when_timed_out }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SESSION_OPENED, go_back_n_on_opened),
		NOPAL_ON(SEGMENT_TO_NET, nopal__go_back_sender_on_to_net,
			 .before = "flow_control|rate_mechanism|window_mechanism"),
		NOPAL_ON(SEND_SEGMENT, nopal__go_back_sender_on_send),
		NOPAL_ON(SEGMENT_RESEND, nopal__go_back_sender_on_resend,
			 .before = "rate_mechanism|window_mechanism"),
		/* A segment that is not taken now has not been seen. */
		NOPAL_ON(SEGMENT_FROM_NET, go_back_n_on_from_net, .before = "segment_numbers"),
		NOPAL_ON_OWN(GO_BACK_N_ACK, nopal__go_back_sender_on_ack),
		NOPAL_ON(SEGMENT_VERIFIED, go_back_n_on_verified, .before = "message_segments"),
		NOPAL_ON(SEGMENT_RECEIVED, nopal__go_back_sender_on_settled),
		NOPAL_ON(SEGMENT_LOST, nopal__go_back_sender_on_lost), HELD_BINDINGS,
		NOPAL_ON(TURN_END, nopal__go_back_sender_on_turn_end,
			 .before = "flow_control|rate_mechanism|window_mechanism"),
		NOPAL_ON(TURN_END, go_back_n_on_told, .after = "window_mechanism")),
	.raises =
		NOPAL_RAISES("ACK_FROM_NET", "SEGMENT_RECEIVED", "ACK_PROCESSED", "SEGMENT_TIMEOUT",
			     "SEGMENT_LOST", "SEGMENT_RESEND", "SESSION_BROKEN"),
	.state_size = sizeof(struct go_back_n),
	.idle = go_back_n_idle,
};
