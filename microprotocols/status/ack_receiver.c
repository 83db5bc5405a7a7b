/* SPDX-License-Identifier: MIT */
/*
 * ack_receiver.c -- positive_ack where it receives data: the account of arrivals, and when to tell.
 *
 * At the end of a turn an ack leaves at once where there is a hole, where one was filled, for a
 * duplicate, and for the `every`-th arrival; else it waits `delay` for company, or for data to ride
 * on.  Where `every` is 0 it always waits.
 */
#include "positive_ack.h"

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
void nopal__ack_receiver_ride(struct nopal_at at, struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(at);

	nopal_set(at, segment, POSITIVE_ACK_CUMULATIVE, ack_receiver_cumulative(self));
	if (self->unacked && !self->other && self->seen.end == self->seen.floor &&
	    positive_ack_reach(at) <= 1)
		ack_receiver_acked(at);
}

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
		nopal__ack_sender_take_cumulative(at,
						  nopal_get(at, segment, POSITIVE_ACK_CUMULATIVE));
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
		return NOPAL_STOP;
	if (hole || self->seen.end != self->seen.floor) {
		self->at_once = true;
		ack_receiver_note(self, number);
	}
	return NOPAL_CONTINUE;
}

/* A report: where its bitmap begins, and whether that is all of it.  A part tells the newest numbers,
 * which are the end of all, again and again; and a number that filled a hole far below them once. */
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
