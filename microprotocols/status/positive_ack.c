/* SPDX-License-Identifier: MIT */
/*
 * positive_ack -- positive acknowledgement (ACK, SACK) of segments, at both ends.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.B and figure 3; RFC 2018
 *            (selective reports).
 * Differs:   an acknowledgement also names the packet number that came last, so every one is a
 *            clean sample of the round trip.  It is decided once a turn, not for each segment.
 *            Where an unseen segment is no longer needed, the cumulative ack passes it, and its
 *            outcome is told as unknown.  Without `selective`, and where all must arrive, nothing
 *            is urgent. Where `every` is 0, not even a hole is told at once: a clock of `delay`
 *            paces all acks while data flow, as UDT's does, and loss detection goes by it.
 * Wire:      ack: largest packet number 4, cumulative ack 4, whether the bitmap is a part 1 bit,
 *            delay in 8 us 15 bits; where `selective` is on, a bitmap of the arrivals above the
 *            cumulative ack, bit 0 of its first byte is cumulative ack + 1, its last byte is not 0;
 *            before a part of a bitmap that does not fit as a whole, the number of that bit, 4.
 *
 *   sender                                  receiver
 *   data 7 ------------------------------>  7 is marked
 *   data 8 -------------- x                 (8 is lost)
 *   data 9 ------------------------------>  9 is marked, a hole: say so now
 *        <--- ack cumulative ack 8, bitmap 1 ------
 *   ACK_FROM_NET, SEGMENT_RECEIVED 7, 9, ACK_PROCESSED
 */
#include "positive_ack.h"

static enum nopal_verdict positive_ack_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct positive_ack *self = nopal_state(at);
	uint64_t local = (uint64_t)nopal_shared_get(at, POSITIVE_ACK_LOCAL);

	(void)subject;
	outstanding_begin(&self->sent, local);
	self->first = (uint64_t)nopal_shared_get(at, POSITIVE_ACK_PEER);
	nopal_serial_seen(at, POSITIVE_ACK_CUMULATIVE, local);
	return NOPAL_CONTINUE;
}

static void positive_ack_idle(struct nopal_at at)
{
	struct positive_ack *self = nopal_state(at);

	outstanding_idle(at.session, &self->sent);
	nopal_queue_idle(at.session, &self->waiting);
	nopal_queue_idle(at.session, &self->passing);
	nopal_numbers_idle(at.session, &self->seen);
}

static void positive_ack_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct positive_ack_parameters *set = parameters;

	if (!set->every && !set->delay_ns)
		nopal_problem(problems, "delay", "the clock that paces acks has no period",
			      "set delay, or make every at least 1");
}

const struct nopal_microprotocol nopal_positive_ack = {
	NOPAL_DESCRIBE(positive_ack, status,
		       "positive acknowledgement (ACK, SACK) of segments, at both ends"),
	.wire_version = 1 /* 0: a report that did not fit was cut */,
	.provides = NOPAL_ROLES({ "acknowledgement", true }),
	.standard = "acknowledgement",
	.needs = NOPAL_RELATIONS(
		{ "segment_numbers", "numbers are what it acknowledges" },
		{ "retransmission_timer",
		  "acks can get lost: the last segments would be waited for without end" }),
	.promises = NOPAL_PROMISES({ NOPAL_OUTCOME, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_AT_TRANSPORT,
				     "the peer acknowledges what arrived" }),
	.parameters_size = sizeof(struct positive_ack_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(
			positive_ack, every, "every", COUNT, "2", "0", "65536",
			"segments that are acknowledged at once; 0: none, acks go by the clock"),
		NOPAL_NUMBER(positive_ack, delay_ns, "delay", TIME, "25ms", "0ms", "250ms",
			     "longest wait for that many"),
		NOPAL_ON_OFF(positive_ack, selective, "selective", "off",
			     "report what lies above the cumulative ack", .wire = true),
		NOPAL_ON_OFF(positive_ack, piggyback, "piggyback", "off",
			     "data carries the cumulative ack", .wire = true),
		NOPAL_NUMBER(positive_ack, window, "window", COUNT, "65536", "1", "1048576",
			     "segments that may be outstanding")),
	.moved = NOPAL_MOVED(
		{ "timeout_min", "write it into retransmission_timer { timeout_min = TIME }" },
		{ "timeout_max", "write it into retransmission_timer { timeout_max = TIME }" },
		{ "backoff", "write it into retransmission_timer { backoff = N }" }),
	.validate = positive_ack_validate,
	.attributes = NOPAL_ATTRIBUTES(
		[POSITIVE_ACK_NUMBER] = { "segment_number", NOPAL_READ },
		[POSITIVE_ACK_CUMULATIVE] = { "cumulative_ack", NOPAL_WRITE,
					      "no segment below this number is needed",
					      .wire_bytes = ACK_REPORT_NUMBER_BYTES,
					      .kinds = NOPAL_DATA, .serial = true,
					      .when = "piggyback" },
		[POSITIVE_ACK_PACKET] = { "packet_number", NOPAL_READ,
					  .wire_bytes = ACK_REPORT_NUMBER_BYTES,
					  .kinds = NOPAL_CARRIED, .serial = true }),
	.shared =
		NOPAL_SHARED([POSITIVE_ACK_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL, 1,
						      "our first number" },
			     [POSITIVE_ACK_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
						     "the peer's first number" },
			     [POSITIVE_ACK_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
						      "1: an unseen segment is still needed" },
			     [POSITIVE_ACK_WINDOW] = { "segment_window", NOPAL_READ_OPTIONAL, 65536,
						       "numbers that the peer's filter remembers" },
			     [POSITIVE_ACK_TOLD] = { "arrivals_told", NOPAL_WRITE, 1,
						     "1: acks name a packet number that arrived" }),
	.kinds = NOPAL_KINDS([POSITIVE_ACK_ACK] = { "ack", NOPAL_KIND_CONTROL,
						    "the segments that arrived" }),
	.holds = NOPAL_HOLDS(
		{ "the peer can keep track of it", NOPAL_SEND, NOPAL_DATA, .sticky = true },
		{ "its status is known", NOPAL_DONE, NOPAL_CARRIED },
		{ "its status is known", NOPAL_DEALLOCATE, NOPAL_DATA }),
	.timers =
		NOPAL_TIMERS([POSITIVE_ACK_DELAY] = { "delay", nopal__ack_receiver_when_delayed }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SESSION_OPENED, positive_ack_on_opened),
		NOPAL_ON(SEGMENT_TO_NET, nopal__ack_sender_on_to_net,
			 .before = "flow_control|rate_mechanism|window_mechanism"),
		NOPAL_ON(SEND_SEGMENT, nopal__ack_sender_on_send, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_FROM_NET, nopal__ack_receiver_on_carried, .kinds = NOPAL_CARRIED,
			 .before = "duplicate_filter"),
		NOPAL_ON_OWN(POSITIVE_ACK_ACK, nopal__ack_sender_on_ack),
		NOPAL_ON(SEGMENT_VERIFIED, nopal__ack_receiver_on_verified,
			 .before = "message_segments"),
		NOPAL_ON(SEGMENT_RECEIVED, nopal__ack_sender_on_received),
		NOPAL_ON(SEGMENT_LOST, nopal__ack_sender_on_missing, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_TIMEOUT, nopal__ack_sender_on_missing, .kinds = NOPAL_CARRIED),
		NOPAL_ON(SEGMENT_ABANDONED, nopal__ack_sender_on_abandoned),
		NOPAL_ON(FORWARD_RECEIVED, nopal__ack_receiver_on_gave_up),
		NOPAL_ON(TURN_END, nopal__ack_sender_on_turn_end, .before = "window_mechanism"),
		NOPAL_ON(TURN_END, nopal__ack_receiver_on_turn_end, .after = "window_mechanism")),
	.raises =
		NOPAL_RAISES("ACK_FROM_NET", "SEGMENT_RECEIVED", "ACK_PROCESSED", "SESSION_BROKEN"),
	.state_size = sizeof(struct positive_ack),
	.idle = positive_ack_idle,
};
