/* SPDX-License-Identifier: MIT */
/*
 * ack_receiver.c -- positive_ack where it receives data: the account of what arrived, and when to
 * tell.
 *
 * At the end of a turn an ack leaves at once where there is a hole, where one was filled, for a
 * duplicate, and for the `every`-th arrival; else it waits `delay` for company, or for data to ride
 * on.  Where `every` is 0 it always waits.
 */
#include "positive_ack.h"

static void ack_receiver_acked(struct nopal_session *session, const struct nopal_part *part)
{
	struct positive_ack *self = nopal_state(session, part);

	self->unacked = 0;
	self->at_once = false;
	self->other = false;
	nopal_timer_stop(session, part, POSITIVE_ACK_DELAY);
}

static uint64_t ack_receiver_floor(const struct positive_ack *self)
{
	return self->seen.window ? self->seen.floor : self->first;
}

/* A resend carries the floor of the first departure: redundancy codes over it. Where the floor is
 * all there is to say, no ack of its own is owed. */
void nopal__ack_receiver_ride(struct nopal_session *session, const struct nopal_part *part,
			      struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(session, part);

	nopal_set(segment, part, POSITIVE_ACK_FLOOR, ack_receiver_floor(self));
	if (self->unacked && !self->other && self->seen.end == self->seen.floor &&
	    positive_ack_reach(session, part) <= 1)
		ack_receiver_acked(session, part);
}

static void ack_receiver_note(struct positive_ack *self, uint64_t number)
{
	if (number > self->seen.floor &&
	    (self->untold <= self->seen.floor || number < self->untold))
		self->untold = number;
}

/* Before the duplicate filter: the peer sends again what it thinks was not received, so a duplicate
 * is acknowledged once more. */
enum nopal_verdict nopal__ack_receiver_on_carried(struct nopal_session *session,
						  const struct nopal_part *part,
						  struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	struct positive_ack *self = nopal_state(session, part);

	if (!self->arrived || segment->packet_number > self->latest) {
		self->latest = segment->packet_number;
		self->latest_ns = segment->departed_ns;
		self->arrived = true;
	}
	self->unacked++;
	if (segment->kind) {
		self->other = true;
		return NOPAL_CONTINUE;
	}
	if (self->seen.window &&
	    nopal_numbers_test(&self->seen, nopal_get(segment, part, POSITIVE_ACK_NUMBER)) ==
		    NOPAL_NUMBER_SEEN) {
		self->at_once = true;
		ack_receiver_note(self, nopal_get(segment, part, POSITIVE_ACK_NUMBER));
	}
	if (set->piggyback)
		nopal__ack_sender_take_floor(session, part,
					     nopal_get(segment, part, POSITIVE_ACK_FLOOR));
	return NOPAL_CONTINUE;
}

static bool ack_receiver_prepare(struct nopal_session *session, const struct nopal_part *part)
{
	struct positive_ack *self = nopal_state(session, part);
	int64_t window = nopal_shared(session, part, POSITIVE_ACK_WINDOW);

	if (self->seen.window ||
	    nopal_numbers_init(&self->seen, self->first, (uint32_t)window) == 0)
		return true;
	nopal_session_break(session, NOPAL_RESOURCE, "no room to remember what arrived");
	return false;
}

/* Only what passed the filters is ever acknowledged. */
enum nopal_verdict nopal__ack_receiver_on_verified(struct nopal_session *session,
						   const struct nopal_part *part,
						   struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(session, part);
	uint64_t number = nopal_get(segment, part, POSITIVE_ACK_NUMBER);
	uint64_t reach = positive_ack_reach(session, part);
	bool hole;

	if (!ack_receiver_prepare(session, part))
		return NOPAL_STOP;
	hole = self->seen.end != self->seen.floor;
	if (reach && number + 1 > self->seen.floor + reach)
		nopal_numbers_skip(&self->seen, number + 1 - reach);
	if (nopal_numbers_mark(session, &self->seen, number) == NOPAL_NUMBER_BEYOND)
		return NOPAL_STOP;
	if (hole || self->seen.end != self->seen.floor) {
		self->at_once = true;
		ack_receiver_note(self, number);
	}
	return NOPAL_CONTINUE;
}

/* Where a part begins that holds so many numbers: what came last is told again and again, being the
 * end of all, and so is what fills a hole far below it, once. */
static uint64_t ack_receiver_part(struct positive_ack *self, uint64_t numbers)
{
	uint64_t last = self->seen.end - numbers;
	bool untold = self->untold > self->seen.floor && self->untold < last;

	self->deep = untold && !self->deep;
	if (self->deep)
		last = self->untold;
	if (self->deep || !untold)
		self->untold = 0;
	return last;
}

/* The rest of a report: where its bitmap begins, and whether that is all of it. */
static void ack_receiver_above(struct nopal_session *session, const struct nopal_part *part,
			       struct ack_report *report, uint32_t room)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	struct positive_ack *self = nopal_state(session, part);

	report->from = report->floor + 1;
	report->bytes = 0;
	if (!set->selective)
		return;
	report->bytes = ack_report_bitmap_bytes(&self->seen);
	report->part = report->bytes > room;
	if (!report->part) {
		self->untold = 0;
		return;
	}
	report->bytes = room - ACK_REPORT_NUMBER_BYTES;
	report->from = ack_receiver_part(self, report->bytes * ACK_REPORT_BYTE);
}

static void ack_receiver_send(struct nopal_session *session, const struct nopal_part *part)
{
	struct positive_ack *self = nopal_state(session, part);
	uint32_t room =
		nopal_control_limit(session, part, POSITIVE_ACK_ACK) - ACK_REPORT_HEAD_BYTES;
	struct ack_report report = {
		.largest = self->latest,
		.floor = ack_receiver_floor(self),
		.delay_ns = session->now_ns - self->latest_ns,
	};
	struct nopal_writer writer;
	struct nopal_segment *segment;
	uint32_t head = ACK_REPORT_HEAD_BYTES, bitmap;

	ack_receiver_above(session, part, &report, room);
	if (report.part)
		head += ACK_REPORT_NUMBER_BYTES;
	bitmap = (uint32_t)report.bytes;
	segment = nopal_control_begin(session, part, POSITIVE_ACK_ACK, head + bitmap, &writer);
	if (!segment)
		return;
	ack_report_write(&writer, &report);
	bitmap = ack_report_bitmap(&self->seen, report.from, writer.at, bitmap);
	nopal_control_send(session, segment, head + bitmap);
	ack_receiver_acked(session, part);
}

/* The peer waits for a floor that has passed.  Where nothing ever came, there is no packet number
 * to tell with it. */
enum nopal_verdict nopal__ack_receiver_on_gave_up(struct nopal_session *session,
						  const struct nopal_part *part,
						  struct nopal_forward *forward)
{
	struct positive_ack *self = nopal_state(session, part);

	if (!ack_receiver_prepare(session, part))
		return NOPAL_STOP;
	nopal_numbers_skip(&self->seen, forward->segment);
	if (self->arrived) {
		self->unacked++;
		self->at_once = true;
	}
	return NOPAL_CONTINUE;
}

static bool ack_receiver_is_due(const struct nopal_part *part, const struct positive_ack *self)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);

	if (!set->every)
		return false;
	return self->at_once || self->unacked >= set->every || !set->delay_ns;
}

enum nopal_verdict nopal__ack_receiver_on_turn_end(struct nopal_session *session,
						   const struct nopal_part *part,
						   struct nopal_session *subject)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	struct positive_ack *self = nopal_state(session, part);

	(void)subject;
	if (!self->unacked)
		return NOPAL_CONTINUE;
	if (ack_receiver_is_due(part, self))
		ack_receiver_send(session, part);
	else if (!nopal_timer_running(session, part, POSITIVE_ACK_DELAY))
		nopal_timer_start(session, part, POSITIVE_ACK_DELAY,
				  session->now_ns + set->delay_ns);
	return NOPAL_CONTINUE;
}

void nopal__ack_receiver_when_delayed(struct nopal_session *session, const struct nopal_part *part)
{
	const struct positive_ack *self = nopal_state(session, part);

	if (self->unacked)
		ack_receiver_send(session, part);
}
