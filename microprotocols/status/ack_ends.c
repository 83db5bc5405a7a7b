/* SPDX-License-Identifier: MIT */
/*
 * ack_ends.c -- positive_ack at both ends.
 *
 * Where it receives data: the account of arrivals, and when to tell.  At the end of a turn an
 * ack leaves at once where there is a hole, where one was filled, for a duplicate, and for the
 * `every`-th arrival; else it waits `delay` for company, or for data to ride on.  Where `every`
 * is 0 it always waits.
 *
 * Where it sends data: which segments may leave, and how an ack changes them.
 *
 *   first transmission -> open -- reported ------------------------> SEGMENT_RECEIVED
 *                       |  ^
 *                       |  +-- resend, where somebody resends
 *                       +----- lost or timed out, nobody resends -> missing
 */
#include "positive_ack.h"

enum { ACK_AHEAD = 3 /* segments fetched before their turn */ };

/* ---------------------------------------------------------------- leaving */

static void ack_receiver_acked(struct nopal_at at)
{
	struct positive_ack *self = nopal_state(at);

	self->unacked = 0;
	self->at_once = false;
	self->other = false;
	nopal_timer_stop(at, POSITIVE_ACK_DELAY);
}

static uint64_t ack_receiver_cumulative(const struct positive_ack *self)
{
	return self->seen.window ? self->seen.floor : self->first;
}

/* A resend carries the cumulative ack of the first transmission: redundancy codes over it. Where
 * the cumulative ack is all there is to say, no ack of its own is owed. */
static void ack_receiver_ride(struct nopal_at at, struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(at);

	nopal_set(at, segment, POSITIVE_ACK_CUMULATIVE, ack_receiver_cumulative(self));
	if (self->unacked && !self->other && self->seen.end == self->seen.floor &&
	    positive_ack_reach(at) <= 1)
		ack_receiver_acked(at);
}

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
			ack_receiver_ride(at, segment);
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
	while (self->passing.count && (segment = nopal_queue_first(at.session, &self->passing)) &&
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
static __attribute__((noinline)) void ack_sender_take_cumulative(struct nopal_at at,
								 uint64_t cumulative)
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

/* --------------------------------------------------------------- the receiver */

static void ack_receiver_note(struct positive_ack *self, uint64_t number)
{
	if (number > self->seen.floor &&
	    (self->untold <= self->seen.floor || number < self->untold))
		self->untold = number;
}

/* Before the duplicate filter: the peer sends again what it thinks was not received, so a duplicate
 * is acknowledged once more. */
enum nopal_verdict nopal__ack_receiver_on_carried(struct nopal_at at, struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	struct positive_ack *self = nopal_state(at);

	if (!self->arrived || segment->packet_number > self->latest) {
		self->latest = segment->packet_number;
		self->latest_ns = segment->transmitted_ns;
		self->arrived = true;
	}
	self->unacked++;
	if (segment->kind) {
		self->other = true;
		return NOPAL_CONTINUE;
	}
	if (self->seen.window &&
	    nopal_numbers_test(&self->seen, nopal_get(at, segment, POSITIVE_ACK_NUMBER)) ==
		    NOPAL_NUMBER_SEEN) {
		self->at_once = true;
		ack_receiver_note(self, nopal_get(at, segment, POSITIVE_ACK_NUMBER));
	}
	if (set->piggyback)
		ack_sender_take_cumulative(at, nopal_get(at, segment, POSITIVE_ACK_CUMULATIVE));
	return NOPAL_CONTINUE;
}

static bool ack_receiver_prepare(struct nopal_at at)
{
	struct positive_ack *self = nopal_state(at);
	int64_t window = nopal_shared_get(at, POSITIVE_ACK_WINDOW);

	if (self->seen.window ||
	    nopal_numbers_init(&self->seen, self->first, (uint32_t)window) == 0)
		return true;
	nopal_session_break(at.session, NOPAL_RESOURCE, "no room to remember arrivals");
	return false;
}

/* The filter has let the number in, and lets no resend of it in: where one is still needed, it
 * would be waited for in vain. */
static enum nopal_verdict ack_receiver_unmarked(struct nopal_at at, uint64_t number)
{
	const struct positive_ack *self = nopal_state(at);

	if (nopal_shared_get(at, POSITIVE_ACK_UNMET) &&
	    nopal_numbers_test(&self->seen, number) == NOPAL_NUMBER_NEW)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to remember arrivals");
	return NOPAL_STOP;
}

/* Only segments that passed the filters are ever acknowledged. */
enum nopal_verdict nopal__ack_receiver_on_verified(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, POSITIVE_ACK_NUMBER);
	uint64_t reach = positive_ack_reach(at);
	bool hole;

	if (!ack_receiver_prepare(at))
		return NOPAL_STOP;
	hole = self->seen.end != self->seen.floor;
	if (reach && number + 1 > self->seen.floor + reach)
		nopal_numbers_skip(&self->seen, number + 1 - reach);
	if (nopal_numbers_mark(at.session, &self->seen, number) == NOPAL_NUMBER_BEYOND)
		return ack_receiver_unmarked(at, number);
	if (hole || self->seen.end != self->seen.floor) {
		self->at_once = true;
		ack_receiver_note(self, number);
	}
	return NOPAL_CONTINUE;
}

/* A report: where its bitmap begins, and whether that is all of it.  A part tells the newest
 * numbers, which are the end of all, again and again; and a number that filled a hole far below
 * them once. */
static void ack_receiver_send(struct nopal_at at)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	struct positive_ack *self = nopal_state(at);
	uint32_t room = nopal_control_limit(at, POSITIVE_ACK_ACK) - ACK_REPORT_HEAD_BYTES;
	uint32_t head = ACK_REPORT_HEAD_BYTES, bitmap;
	struct ack_report report = {
		.largest = self->latest,
		.cumulative = ack_receiver_cumulative(self),
		.delay_ns = at.session->now_ns - self->latest_ns,
	};
	struct nopal_writer writer;
	struct nopal_segment *segment;

	report.from = report.cumulative + 1;
	if (set->selective)
		report.bytes = ack_report_bitmap_bytes(&self->seen);
	if (report.bytes > room) {
		bool untold;

		head += ACK_REPORT_NUMBER_BYTES;
		report.part = true;
		report.bytes = room - ACK_REPORT_NUMBER_BYTES;
		report.from = self->seen.end - report.bytes * ACK_REPORT_BYTE;
		untold = self->untold > self->seen.floor && self->untold < report.from;
		self->deep = untold && !self->deep;
		if (self->deep)
			report.from = self->untold;
		if (self->deep || !untold)
			self->untold = 0;
	} else if (set->selective) {
		self->untold = 0;
	}
	bitmap = (uint32_t)report.bytes;
	segment = nopal_control_begin(at, POSITIVE_ACK_ACK, head + bitmap, &writer);
	if (!segment)
		return;
	ack_report_write(&writer, &report);
	bitmap = ack_report_bitmap(&self->seen, report.from, writer.at, bitmap);
	nopal_control_send(at.session, segment, head + bitmap);
	ack_receiver_acked(at);
}

/* The peer waits for a cumulative ack that has passed.  Where nothing ever came, there is no packet
 * number to tell with it. */
enum nopal_verdict nopal__ack_receiver_on_gave_up(struct nopal_at at, struct nopal_forward *forward)
{
	struct positive_ack *self = nopal_state(at);

	if (!ack_receiver_prepare(at))
		return NOPAL_STOP;
	nopal_numbers_skip(&self->seen, forward->segment);
	if (self->arrived) {
		self->unacked++;
		self->at_once = true;
	}
	return NOPAL_CONTINUE;
}

enum nopal_verdict nopal__ack_receiver_on_turn_end(struct nopal_at at,
						   struct nopal_session *subject)
{
	const struct positive_ack_parameters *set = nopal_parameters(at);
	struct positive_ack *self = nopal_state(at);

	(void)subject;
	if (!self->unacked)
		return NOPAL_CONTINUE;
	if (set->every && (self->at_once || self->unacked >= set->every || !set->delay_ns))
		ack_receiver_send(at);
	else if (!nopal_timer_running(at, POSITIVE_ACK_DELAY))
		nopal_timer_start(at, POSITIVE_ACK_DELAY, at.session->now_ns + set->delay_ns);
	return NOPAL_CONTINUE;
}

void nopal__ack_receiver_when_delayed(struct nopal_at at)
{
	const struct positive_ack *self = nopal_state(at);

	if (self->unacked)
		ack_receiver_send(at);
}
