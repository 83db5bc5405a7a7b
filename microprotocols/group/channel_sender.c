/* SPDX-License-Identifier: MIT */
/*
 * channel_sender.c -- channel_repair at the sender: which destinations have a segment, and which
 * segments are multicast once more.
 *
 * Of each number that was multicast the segment is kept until all destinations have it.  A
 * destination has a cumulative ack; the numbers over which a report lifts it have their outcome.
 * Which numbers it had by the channel, and which by its own session, follows from ages: the age
 * counts how often a destination joined, and is noted of a segment as it leaves.
 */
#include "channel_repair.h"

enum {
	SENDER_SMOOTH = 8, /* a new round trip weighs one in so many */
	/* Nothing that came after it says that a repair is lost: it has so much of a round trip
	 * more. */
	SENDER_REPAIR_PART = 4,
	SENDER_FIRST_NUMBER = 1, /* 0: for one alone */
};
#define SENDER_REMIND_FIRST_NS	 (20 * NOPAL_MILLISECOND)
#define SENDER_REMIND_LONGEST_NS (500 * NOPAL_MILLISECOND)
#define SENDER_MIN_RTT_NS	 NOPAL_MILLISECOND

static struct channel_sender *sender_of(struct nopal_at at)
{
	struct channel_repair *self = nopal_state(at);

	return &self->sender;
}

/* ---------------------------------------------------------------- transmissions */

/* Numbers count first transmissions: who opens meanwhile begins with the next. */
enum nopal_verdict nopal__channel_sent(struct nopal_at at, struct nopal_segment *segment)
{
	struct channel_sender *self = sender_of(at);

	if (segment->transmissions != 1 || nopal_is_for_one(at.session, segment))
		return NOPAL_CONTINUE;
	if (self->next > UINT32_MAX) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "there are no more numbers for segments to "
				    "all: open the group again");
		return NOPAL_CONTINUE;
	}
	if (!self->next) {
		self->next = SENDER_FIRST_NUMBER;
		outstanding_begin(&self->multicast, self->next);
	}
	if (self->order <= nopal_get(at, segment, CHANNEL_REPAIR_MESSAGE))
		self->order = nopal_get(at, segment, CHANNEL_REPAIR_MESSAGE) + 1;
	nopal_set(at, segment, CHANNEL_REPAIR_NUMBER, self->next);
	nopal_set(at, segment, CHANNEL_REPAIR_AGE, self->age);
	self->left_ns = at.session->now_ns;
	self->remind_ns = SENDER_REMIND_FIRST_NS;
	if (outstanding_track(at.session, &self->multicast, self->next++, segment) &&
	    !nopal_timer_running(at, CHANNEL_REPAIR_REMIND))
		nopal_timer_start(at, CHANNEL_REPAIR_REMIND, at.session->now_ns + self->remind_ns);
	return NOPAL_CONTINUE;
}

/* A copy of the segment has its outcome, or the segment is done without any. */
enum nopal_verdict nopal__channel_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	struct channel_sender *self = sender_of(at);
	uint64_t number = nopal_get(at, segment, CHANNEL_REPAIR_NUMBER);

	if (!segment->copies)
		outstanding_close(&self->multicast, number);
	return NOPAL_CONTINUE;
}

enum nopal_verdict nopal__channel_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	return nopal__channel_on_done(at, copy->segment);
}

/* -------------------------------------------------------------- destinations */

/* The part of a destination that joins: all segments that leave from now on, but for the rest of a
 * message that has begun. */
enum nopal_verdict nopal__channel_added(struct nopal_at at, struct nopal_destination *destination)
{
	struct channel_sender *self = sender_of(at);

	nopal_repair(destination)[CHANNEL_REPAIR_FIRST] =
		self->next ? self->next : SENDER_FIRST_NUMBER;
	nopal_repair(destination)[CHANNEL_REPAIR_ORDER] = self->order;
	return NOPAL_CONTINUE;
}

/* A control segment that begins with a number. */
static struct nopal_segment *sender_numbered(struct nopal_at at, unsigned kind, uint32_t room,
					     uint64_t number, struct nopal_writer *writer)
{
	struct nopal_segment *segment = nopal_control_begin(at, kind, room, writer);

	if (segment)
		nopal_write(writer, number, CHANNEL_REPAIR_NUMBER_BYTES);
	return segment;
}

enum nopal_verdict nopal__channel_opened(struct nopal_at at, struct nopal_destination *destination)
{
	struct nopal_writer writer;
	struct nopal_segment *point;

	if (nopal_is_destination(at.session))
		return NOPAL_CONTINUE;
	point = sender_numbered(at, CHANNEL_REPAIR_POINT, CHANNEL_REPAIR_POINT_BYTES,
				nopal_repair(destination)[CHANNEL_REPAIR_FIRST], &writer);
	if (!point)
		return NOPAL_CONTINUE;
	nopal_write(&writer, nopal_repair(destination)[CHANNEL_REPAIR_ORDER],
		    CHANNEL_REPAIR_NUMBER_BYTES);
	nopal_set(at, point, CHANNEL_REPAIR_DESTINATION, destination->id);
	nopal_control_send(at.session, point, CHANNEL_REPAIR_POINT_BYTES);
	return NOPAL_CONTINUE;
}

/* The segment of a number that the destination had by the channel and whose outcome is open; NULL:
 * there is none. */
static struct nopal_segment *sender_copy(struct nopal_at at, struct nopal_destination *destination,
					 uint64_t number)
{
	struct channel_sender *self = sender_of(at);
	struct nopal_segment *segment = outstanding_find(at.session, &self->multicast, number);

	return segment && nopal_get(at, segment, CHANNEL_REPAIR_AGE) >=
				       nopal_repair(destination)[CHANNEL_REPAIR_SINCE]
		       ? segment
		       : NULL;
}

static uint64_t sender_from(const struct channel_sender *self,
			    struct nopal_destination *destination)
{
	uint64_t cumulative = nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE];

	return cumulative > self->multicast.base ? cumulative : self->multicast.base;
}

/* The segments below `end` that the destination had by the channel have their outcome. */
static void sender_settle(struct nopal_at at, struct nopal_destination *destination, uint64_t end,
			  enum nopal_outcome outcome)
{
	struct channel_sender *self = sender_of(at);
	uint64_t number = sender_from(self, destination);

	if (end > self->multicast.end)
		end = self->multicast.end;
	for (; number < end; number++) {
		struct nopal_segment *segment = sender_copy(at, destination, number);

		nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE] = number + 1;
		if (segment)
			nopal_copy_settle(at.session, segment, destination, outcome);
	}
}

/* To a destination that has left the channel its own session brings the segments that it missed. */
enum nopal_verdict nopal__channel_heard(struct nopal_at at, struct nopal_destination *destination)
{
	struct channel_sender *self = sender_of(at);

	if (!destination->joined) {
		uint32_t index = nopal_destination_find(at.session, destination->id);
		uint64_t number = sender_from(self, destination);

		for (; number < self->multicast.end; number++) {
			struct nopal_segment *segment = sender_copy(at, destination, number);

			if (segment)
				nopal_copy_give(at.session, segment, index);
		}
		nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE] = self->multicast.end;
		return NOPAL_CONTINUE;
	}
	nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE] = self->multicast.base;
	nopal_repair(destination)[CHANNEL_REPAIR_SINCE] = ++self->age;
	nopal_repair(destination)[CHANNEL_REPAIR_STAYS] = 0;
	return NOPAL_CONTINUE;
}

/* Which segments it had remains unknown. */
enum nopal_verdict nopal__channel_ended(struct nopal_at at, struct nopal_destination *destination)
{
	struct channel_sender *self = sender_of(at);

	if (destination->joined)
		sender_settle(at, destination, self->multicast.end, NOPAL_OUTCOME_UNKNOWN);
	return NOPAL_CONTINUE;
}

/* The destination that sent the segment; NULL: it has not joined the channel. */
static struct nopal_destination *sender_whose(struct nopal_at at,
					      const struct nopal_segment *segment)
{
	uint32_t index = nopal_destination_find(at.session,
						nopal_get(at, segment, CHANNEL_REPAIR_DESTINATION));
	struct nopal_destination *destination;

	if (nopal_is_destination(at.session) || index >= nopal_destination_count(at.session))
		return NULL;
	destination = nopal_destination_at(at.session, index);
	return destination->joined ? destination : NULL;
}

/* ------------------------------------------------------------------- reports */

/* A round trip: from the only transmission of a segment to its report, without the wait there. */
static void sender_sample(struct nopal_at at, struct nopal_channel_report *report, uint64_t latest,
			  int64_t delay_ns)
{
	uint64_t *known = &nopal_repair(report->destination)[CHANNEL_REPAIR_RTT];
	const struct nopal_segment *segment =
		latest ? sender_copy(at, report->destination, latest) : NULL;
	int64_t rtt_ns;

	report->rtt_ns = (int64_t)*known;
	if (!segment || segment->transmissions != 1)
		return;
	rtt_ns = at.session->now_ns - segment->transmitted_ns - delay_ns;
	if (rtt_ns <= 0)
		return;
	report->sample_ns = rtt_ns;
	report->left_ns = segment->transmitted_ns;
	if (*known)
		rtt_ns = report->rtt_ns + (rtt_ns - report->rtt_ns) / SENDER_SMOOTH;
	report->rtt_ns = rtt_ns;
	*known = (uint64_t)rtt_ns;
}

enum nopal_verdict nopal__channel_report(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_destination *destination = sender_whose(at, segment);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t cumulative = nopal_read(&reader, CHANNEL_REPAIR_NUMBER_BYTES);
	uint64_t latest = nopal_read(&reader, CHANNEL_REPAIR_NUMBER_BYTES);
	uint64_t delay_us = nopal_read(&reader, CHANNEL_REPAIR_COUNT_BYTES);
	struct nopal_channel_report report = {
		.arrived = nopal_read(&reader, CHANNEL_REPAIR_COUNT_BYTES),
		.missing = nopal_read(&reader, CHANNEL_REPAIR_COUNT_BYTES),
		.rows = nopal_read(&reader, CHANNEL_REPAIR_COUNT_BYTES),
		.destination = destination,
	};

	if (!destination || !nopal_read_complete(&reader))
		return NOPAL_CONTINUE;
	sender_sample(at, &report, latest, (int64_t)delay_us * NOPAL_MICROSECOND);
	if (cumulative > nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE])
		nopal_repair(destination)[CHANNEL_REPAIR_STAYS] = 0;
	sender_settle(at, destination, cumulative, NOPAL_OUTCOME_DELIVERED);
	nopal_raise_CHANNEL_REPORT(at.session, &report);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- repairs */

/* Tells all destinations which numbers exist and, in answer to a nak, which come again. */
static void sender_top(struct nopal_at at, const struct nopal_body *ranges)
{
	struct channel_sender *self = sender_of(at);
	uint32_t room = nopal_control_limit(at, CHANNEL_REPAIR_TOP);
	uint32_t length = CHANNEL_REPAIR_NUMBER_BYTES;
	struct nopal_writer writer;
	struct nopal_segment *top;

	if (ranges && ranges->length <= room - length)
		length += ranges->length;
	top = sender_numbered(at, CHANNEL_REPAIR_TOP, length, self->multicast.end, &writer);
	if (!top)
		return;
	if (length > CHANNEL_REPAIR_NUMBER_BYTES)
		nopal_write_bytes(&writer, ranges->bytes, ranges->length);
	nopal_control_multicast(at.session, top, length);
}

enum sender_repair {
	SENDER_NOTHING,	 /* the channel did not bring it there */
	SENDER_REPAIRED, /* or it has just left */
	SENDER_TOO_LATE, /* it is done, and never leaves again */
};

/* Whether a number is to be repaired; with `leave` the repair leaves. */
static enum sender_repair sender_repair(struct nopal_at at, struct nopal_destination *destination,
					uint64_t number, bool leave)
{
	struct channel_sender *self = sender_of(at);
	struct nopal_segment *segment = sender_copy(at, destination, number);
	int64_t rtt_ns = (int64_t)nopal_repair(destination)[CHANNEL_REPAIR_RTT];

	if (!segment)
		return SENDER_NOTHING;
	if (segment->done)
		return SENDER_TOO_LATE;
	if (rtt_ns < SENDER_MIN_RTT_NS)
		rtt_ns = SENDER_MIN_RTT_NS;
	if (segment->transmissions > 1)
		rtt_ns += rtt_ns / SENDER_REPAIR_PART;
	if (leave && !segment->wanted && at.session->now_ns - segment->transmitted_ns >= rtt_ns) {
		self->lost += segment->transmissions > 1;
		nopal_raise_SEGMENT_LOST(at.session, segment);
		nopal_segment_resend(at, segment);
	}
	return SENDER_REPAIRED;
}

/* The same for all numbers that are asked for: the worst of them. */
static enum sender_repair sender_repair_all(struct nopal_at at,
					    struct nopal_destination *destination,
					    const struct nopal_body *asked, bool leave)
{
	struct channel_sender *self = sender_of(at);
	struct channel_ranges ranges = nopal__channel_ranges(nopal_body_reader(asked));
	enum sender_repair max = SENDER_NOTHING;

	while (max < SENDER_TOO_LATE && nopal__channel_next(&ranges)) {
		uint64_t number = sender_from(self, destination);

		if (number < ranges.first)
			number = ranges.first;
		for (; number < ranges.end && number < self->multicast.end; number++) {
			enum sender_repair one = sender_repair(at, destination, number, leave);

			if (one > max)
				max = one;
			if (max == SENDER_TOO_LATE)
				break;
		}
	}
	return max;
}

/* All destinations are told before the repairs come, so that those that miss the same stay silent.
 * Reports count new numbers: of lost repairs only naks tell. */
enum nopal_verdict nopal__channel_nak(struct nopal_at at, struct nopal_segment *segment)
{
	struct channel_sender *self = sender_of(at);
	struct nopal_destination *destination = sender_whose(at, segment);
	struct nopal_channel_report report = { .destination = destination, .rows = 1 };
	enum sender_repair max = SENDER_NOTHING;

	if (destination)
		max = sender_repair_all(at, destination, &segment->body, false);
	if (max == SENDER_TOO_LATE)
		nopal_destination_joined(
			at.session, nopal_destination_find(at.session, destination->id), false);
	if (max != SENDER_REPAIRED)
		return NOPAL_CONTINUE;
	report.rtt_ns = (int64_t)nopal_repair(destination)[CHANNEL_REPAIR_RTT];
	sender_top(at, &segment->body);
	self->lost = 0;
	sender_repair_all(at, destination, &segment->body, true);
	report.missing = self->lost;
	if (self->lost)
		nopal_raise_CHANNEL_REPORT(at.session, &report);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------------- reminders */

/* A destination whose cumulative ack does not move does not hear the channel any more, or its nak
 * and report would have come. */
void nopal__channel_remind(struct nopal_at at)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	struct channel_sender *self = sender_of(at);

	for (uint32_t i = 0; i < nopal_destination_count(at.session); i++) {
		struct nopal_destination *destination = nopal_destination_at(at.session, i);
		uint64_t *stays = &nopal_repair(destination)[CHANNEL_REPAIR_STAYS];

		if (!destination->joined)
			continue;
		if (sender_from(self, destination) == self->multicast.end)
			*stays = 0;
		else if (!*stays)
			*stays = (uint64_t)at.session->now_ns;
		else if (at.session->now_ns - (int64_t)*stays > set->patience_ns)
			nopal_destination_joined(at.session, i, false);
	}
	if (self->multicast.base == self->multicast.end)
		return;
	if (at.session->now_ns - self->left_ns >= self->remind_ns) {
		sender_top(at, NULL);
		self->remind_ns *= 2;
		if (self->remind_ns > SENDER_REMIND_LONGEST_NS)
			self->remind_ns = SENDER_REMIND_LONGEST_NS;
	}
	nopal_timer_start(at, CHANNEL_REPAIR_REMIND, at.session->now_ns + self->remind_ns);
}
