/* SPDX-License-Identifier: MIT */
/*
 * ack_sender.c -- positive_ack where it sends data: which segments may leave, and how an ack
 * changes them.
 *
 *   first transmission -> open -- reported ------------------------> SEGMENT_RECEIVED
 *                       |  ^
 *                       |  +-- resend, where somebody resends
 *                       +----- lost or timed out, nobody resends -> missing
 */
#include "positive_ack.h"

enum { ACK_AHEAD = 3 /* segments fetched before their turn */ };

/* ---------------------------------------------------------------- leaving */

static bool ack_sender_has_room(struct nopal_at at, const struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	const struct positive_ack *self = nopal_state(at);
	int64_t window = nopal_shared_get(at, POSITIVE_ACK_WINDOW);

	if (window > set->window)
		window = set->window;
	return nopal_get(at, segment, POSITIVE_ACK_NUMBER) < self->sent.base + (uint64_t)window;
}

enum nopal_verdict nopal__ack_sender_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	struct positive_ack *self = nopal_state(at);

	/* Where the peer tells a cumulative ack alone, a segment that overtook is not known to be
	 * there before its predecessors are: it would fill the window that they need. */
	if (!set->selective && nopal_shared_get(at, POSITIVE_ACK_UNMET))
		segment->urgent = false;
	/* An urgent one has overtaken the numbers that it would wait for here. */
	if (segment->urgent || (!self->waiting.count && ack_sender_has_room(at, segment)))
		nopal_release(at, segment, NOPAL_SEND);
	else if (nopal_queue_push(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room for a segment that waits");
	return NOPAL_CONTINUE;
}

enum nopal_verdict nopal__ack_sender_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	struct positive_ack *self = nopal_state(at);
	struct nopal_segment *segment;

	(void)subject;
	while (self->waiting.count && (segment = nopal_queue_first(at.session, &self->waiting)) &&
	       ack_sender_has_room(at, segment)) {
		nopal_queue_pop(&self->waiting);
		nopal_release(at, segment, NOPAL_SEND);
	}
	return NOPAL_CONTINUE;
}

enum nopal_verdict nopal__ack_sender_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	struct positive_ack *self = nopal_state(at);

	if (segment->kind) {
		if (nopal_queue_push(at.session, &self->passing, segment) < 0)
			nopal_session_break(at.session, NOPAL_RESOURCE,
					    "no room to keep track of a segment");
	} else if (segment->transmissions == 1) {
		outstanding_track(at.session, &self->sent,
				  nopal_get(at, segment, POSITIVE_ACK_NUMBER), segment);
		if (set->piggyback)
			nopal__ack_receiver_ride(at, segment);
	}
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------- the end of a segment */

/* Also of what was not received, and ends so. */
enum nopal_verdict nopal__ack_sender_on_received(struct nopal_at at, struct nopal_segment *segment)
{
	if (nopal_holds(at, segment, NOPAL_DEALLOCATE))
		nopal_release(at, segment, NOPAL_DEALLOCATE);
	if (nopal_holds(at, segment, NOPAL_DONE))
		nopal_release(at, segment, NOPAL_DONE);
	return NOPAL_CONTINUE;
}

/* The peer passes its number: from now on it counts as one that has left. */
enum nopal_verdict nopal__ack_sender_on_abandoned(struct nopal_at at, struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, POSITIVE_ACK_NUMBER);

	if (!segment->transmissions)
		outstanding_track(at.session, &self->sent, number, segment);
	outstanding_close(&self->sent, number);
	return nopal__ack_sender_on_received(at, segment);
}

/* Lost or timed out: where nobody sends the segment again, this is its end. */
enum nopal_verdict nopal__ack_sender_on_missing(struct nopal_at at, struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, POSITIVE_ACK_NUMBER);

	if (segment->kind)
		return nopal__ack_sender_on_received(at, segment);
	if (nopal_shared_get(at, POSITIVE_ACK_UNMET))
		return NOPAL_CONTINUE;
	if (outstanding_is_open(&self->sent, number)) {
		outstanding_take(&self->sent, number);
		if (segment->outcome == NOPAL_OUTCOME_UNKNOWN) /* below it may be known */
			segment->outcome = NOPAL_OUTCOME_LOST;
	}
	return nopal__ack_sender_on_received(at, segment);
}

static void ack_sender_arrived(struct nopal_at at, struct nopal_ack *ack, uint64_t number,
			       enum nopal_outcome outcome)
{
	struct positive_ack *self = nopal_state(at);
	struct nopal_segment *segment;

	if (!outstanding_is_open(&self->sent, number))
		return;
	segment = nopal_segment_find(at.session, outstanding_take(&self->sent, number));
	if (!segment)
		return;
	if (outcome != NOPAL_OUTCOME_UNKNOWN) /* the layer below may know more */
		segment->outcome = (uint8_t)outcome;
	nopal_segment_settle(at.session, segment);
	ack->newly_acked_segments++;
	ack->newly_acked_bytes += segment->body.length;
	nopal_raise_SEGMENT_RECEIVED(at.session, segment);
}

/* ------------------------------------------------------ what an ack reports */

static void ack_sender_below_cumulative(struct nopal_at at, const struct ack_report *report,
					struct nopal_ack *ack)
{
	struct positive_ack *self = nopal_state(at);
	uint64_t reach = positive_ack_reach(at);

	while (self->sent.base < report->cumulative) {
		uint64_t number = self->sent.base;
		bool surely = !reach || number + reach > report->highest;

		nopal_segment_prefetch(at.session, outstanding_at(&self->sent, number + ACK_AHEAD));
		if (outstanding_is_open(&self->sent, number))
			ack_sender_arrived(at, ack, number,
					   surely ? NOPAL_OUTCOME_DELIVERED
						  : NOPAL_OUTCOME_UNKNOWN);
		else
			outstanding_advance(&self->sent);
	}
}

static void ack_sender_above_cumulative(struct nopal_at at, const struct ack_report *report,
					struct nopal_ack *ack)
{
	struct positive_ack *self = nopal_state(at);
	uint64_t from = report->from;

	for (size_t place = 0; place < report->bytes; place += sizeof(uint64_t)) {
		uint64_t word = ack_report_word(report, place);
		uint64_t base = self->sent.base;
		uint64_t skip = from < base ? base - from : 0;

		if (skip >= ACK_REPORT_WORD || from + skip >= self->sent.end)
			word = 0;
		else
			word &= outstanding_open(&self->sent, from + skip) << skip;
		for (; word; word &= word - 1)
			ack_sender_arrived(at, ack, from + (unsigned)__builtin_ctzll(word),
					   NOPAL_OUTCOME_DELIVERED);
		from += ACK_REPORT_WORD;
	}
}

/* The order of raises is part of the contract of the role acknowledgement:
 * samples first, then segments, then judgement. */
static void ack_sender_process(struct nopal_at at, const struct ack_report *report,
			       struct nopal_ack *ack)
{
	struct positive_ack *self = nopal_state(at);
	struct nopal_segment *segment;

	ack->largest_is_new = !self->reported || ack->largest > self->largest;
	if (ack->largest_is_new)
		self->largest = ack->largest;
	self->reported = true;
	nopal_raise_ACK_FROM_NET(at.session, ack);
	ack_sender_below_cumulative(at, report, ack);
	ack_sender_above_cumulative(at, report, ack);
	/* A segment that is no data is off the network when something later arrived. */
	while ((segment = nopal_queue_first(at.session, &self->passing)) &&
	       segment->packet_number <= self->largest) {
		nopal_queue_pop(&self->passing);
		nopal_segment_settle(at.session, segment);
		nopal__ack_sender_on_received(at, segment);
	}
	if (outstanding_is_open(&self->sent, ack->cumulative))
		ack->cumulative_segment = outstanding_at(&self->sent, ack->cumulative);
	nopal_raise_ACK_PROCESSED(at.session, ack);
}

enum nopal_verdict nopal__ack_sender_on_ack(struct nopal_at at, struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	const struct positive_ack *self = nopal_state(at);
	const struct nopal_reader reader = nopal_body_reader(&segment->body);
	const struct nopal_transmission *largest;
	struct ack_report report;
	struct nopal_ack ack = { .largest_sent_ns = -1 };

	if (!ack_report_read(reader, nopal_next_packet_number(at.session), self->sent.end,
			     set->selective, &report))
		return NOPAL_STOP;
	ack.largest = report.largest;
	largest = nopal_transmission_find(at.session, report.largest);
	if (largest)
		ack.largest_sent_ns = largest->time_ns;
	ack.delay_ns = report.delay_ns;
	ack.cumulative = report.cumulative;
	ack.selective = set->selective;
	if (report.part) {
		ack.told_from = report.from;
		ack.told_end = report.highest + 1;
	}
	ack_sender_process(at, &report, &ack);
	return NOPAL_STOP;
}

/* The segment below the cumulative ack arrived last; where it left only once, so did its
 * transmission. */
void nopal__ack_sender_take_cumulative(struct nopal_at at, uint64_t cumulative)
{
	const struct positive_ack *self = nopal_state(at);
	const struct ack_report report = { .cumulative = cumulative, .highest = cumulative - 1 };
	struct nopal_ack ack = { .cumulative = cumulative,
				 .largest = self->largest,
				 .largest_sent_ns = -1 };
	const struct nopal_segment *last;

	if (cumulative <= self->sent.base || cumulative > self->sent.end ||
	    positive_ack_reach(at) > 1)
		return;
	nopal_serial_seen(at, POSITIVE_ACK_CUMULATIVE, cumulative);
	last = outstanding_find(at.session, &self->sent, cumulative - 1);
	if (last && last->transmissions == 1 &&
	    (!self->reported || last->packet_number > self->largest)) {
		ack.largest = last->packet_number;
		ack.largest_sent_ns = last->transmitted_ns;
		ack.inferred = true;
	}
	if (self->reported || ack.largest_sent_ns >= 0)
		ack_sender_process(at, &report, &ack);
}
