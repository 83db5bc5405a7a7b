/* SPDX-License-Identifier: MIT */
/*
 * channel_sender.c -- channel_repair at the one who speaks: who has what, and what is multicast
 * once more.
 *
 * Of each number that was multicast the segment is kept until everybody has it.  A destination has
 * a cumulative ack; what a report lifts it over has its outcome.  Which numbers it had by the
 * channel, and which by its own session, follows from ages: the age counts how often somebody began
 * to hear, and is noted of a segment as it leaves.
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
void nopal__channel_sent(struct nopal_at at, struct nopal_segment *segment)
{
	struct channel_sender *self = sender_of(at);

	if (segment->transmissions != 1 || nopal_is_for_one(at.session, segment))
		return;
	if (self->next > UINT32_MAX) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "there are no more numbers for segments to "
				    "all: open the group again");
		return;
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
	if (outstanding_add(at.session, &self->multicast, self->next++, segment->handle) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to keep track of a segment");
	else if (!nopal_timer_running(at, CHANNEL_REPAIR_REMIND))
		nopal_timer_start(at, CHANNEL_REPAIR_REMIND, at.session->now_ns + self->remind_ns);
}

/* A copy of it has its outcome, or it is done without any. */
void nopal__channel_counted(struct nopal_at at, const struct nopal_segment *segment)
{
	struct channel_sender *self = sender_of(at);
	uint64_t number = nopal_get(at, segment, CHANNEL_REPAIR_NUMBER);

	if (!segment->copies && outstanding_is_open(&self->multicast, number))
		outstanding_take(&self->multicast, number);
}

/* -------------------------------------------------------------- destinations */

/* What is for one that joins: all that leaves from now on, but for the rest of a message that has
 * begun. */
void nopal__channel_added(struct nopal_at at, struct nopal_destination *destination)
{
	struct channel_sender *self = sender_of(at);

	nopal_repair(destination)[CHANNEL_REPAIR_FIRST] =
		self->next ? self->next : SENDER_FIRST_NUMBER;
	nopal_repair(destination)[CHANNEL_REPAIR_ORDER] = self->order;
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

void nopal__channel_opened(struct nopal_at at, struct nopal_destination *destination)
{
	struct nopal_writer writer;
	struct nopal_segment *point =
		sender_numbered(at, CHANNEL_REPAIR_POINT, CHANNEL_REPAIR_POINT_BYTES,
				nopal_repair(destination)[CHANNEL_REPAIR_FIRST], &writer);

	if (!point)
		return;
	nopal_write(&writer, nopal_repair(destination)[CHANNEL_REPAIR_ORDER],
		    CHANNEL_REPAIR_NUMBER_BYTES);
	nopal_set(at, point, CHANNEL_REPAIR_DESTINATION, destination->id);
	nopal_control_send(at.session, point, CHANNEL_REPAIR_POINT_BYTES);
}

/* The segment of a number that the destination had by the channel and whose outcome is open; NULL:
 * there is none. */
static struct nopal_segment *sender_copy(struct nopal_at at, struct nopal_destination *destination,
					 uint64_t number)
{
	struct channel_sender *self = sender_of(at);
	struct nopal_segment *segment;

	if (!outstanding_is_open(&self->multicast, number))
		return NULL;
	segment = nopal_segment_find(at.session, outstanding_at(&self->multicast, number));
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

/* All that it had by the channel, up to before a number, has its outcome. */
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

/* What the channel did not bring it comes by its own session. */
static void sender_give(struct nopal_at at, struct nopal_destination *destination)
{
	struct channel_sender *self = sender_of(at);
	uint32_t index = nopal_destination_find(at.session, destination->id);
	uint64_t number = sender_from(self, destination);

	for (; number < self->multicast.end; number++) {
		struct nopal_segment *segment = sender_copy(at, destination, number);

		if (segment)
			nopal_copy_give(at.session, segment, index);
	}
	nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE] = self->multicast.end;
}

void nopal__channel_heard(struct nopal_at at, struct nopal_destination *destination)
{
	struct channel_sender *self = sender_of(at);

	if (!destination->joined) {
		sender_give(at, destination);
		return;
	}
	nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE] = self->multicast.base;
	nopal_repair(destination)[CHANNEL_REPAIR_SINCE] = ++self->age;
	nopal_repair(destination)[CHANNEL_REPAIR_STAYS] = 0;
}

/* Nobody knows what it had of that. */
void nopal__channel_ended(struct nopal_at at, struct nopal_destination *destination)
{
	struct channel_sender *self = sender_of(at);

	if (destination->joined)
		sender_settle(at, destination, self->multicast.end, NOPAL_OUTCOME_UNKNOWN);
}

/* Whose message it is; NULL: of one that does not hear the channel. */
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

/* A round trip: of what left once, its report, and not how long it waited there. */
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

void nopal__channel_report(struct nopal_at at, const struct nopal_segment *segment)
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
		return;
	sender_sample(at, &report, latest, (int64_t)delay_us * NOPAL_MICROSECOND);
	if (cumulative > nopal_repair(destination)[CHANNEL_REPAIR_CUMULATIVE])
		nopal_repair(destination)[CHANNEL_REPAIR_STAYS] = 0;
	sender_settle(at, destination, cumulative, NOPAL_OUTCOME_DELIVERED);
	nopal_raise_CHANNEL_REPORT(at.session, &report);
}

/* ------------------------------------------------------------------- repairs */

/* Tells all what is there and, where it is a nak's answer, what comes again. */
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

/* What is to be done for a number, and where it is to `leave`, doing it. */
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

/* The most that is to be done for a number of [first, end). */
static enum sender_repair sender_repair_range(struct nopal_at at,
					      struct nopal_destination *destination,
					      const struct channel_ranges *range, bool leave)
{
	struct channel_sender *self = sender_of(at);
	uint64_t number = sender_from(self, destination), end = range->end;
	enum sender_repair max = SENDER_NOTHING;

	if (number < range->first)
		number = range->first;
	if (end > self->multicast.end)
		end = self->multicast.end;
	for (; number < end && max < SENDER_TOO_LATE; number++) {
		enum sender_repair one = sender_repair(at, destination, number, leave);

		if (one > max)
			max = one;
	}
	return max;
}

/* The most for all that is asked for. */
static enum sender_repair sender_repair_all(struct nopal_at at,
					    struct nopal_destination *destination,
					    const struct nopal_body *asked, bool leave)
{
	struct channel_ranges ranges = nopal__channel_ranges(nopal_body_reader(asked));
	enum sender_repair max = SENDER_NOTHING;

	while (max < SENDER_TOO_LATE && nopal__channel_next(&ranges)) {
		enum sender_repair one = sender_repair_range(at, destination, &ranges, leave);

		if (one > max)
			max = one;
	}
	return max;
}

/* All are told before the repairs come, so that who misses the same stays silent. Reports count
 * numbers that are new: of lost repairs only naks tell. */
static void sender_answer(struct nopal_at at, struct nopal_destination *destination,
			  const struct nopal_body *asked)
{
	struct channel_sender *self = sender_of(at);
	struct nopal_channel_report report = {
		.destination = destination,
		.rtt_ns = (int64_t)nopal_repair(destination)[CHANNEL_REPAIR_RTT],
	};

	sender_top(at, asked);
	self->lost = 0;
	sender_repair_all(at, destination, asked, true);
	report.missing = self->lost;
	report.rows = 1;
	if (self->lost)
		nopal_raise_CHANNEL_REPORT(at.session, &report);
}

void nopal__channel_nak(struct nopal_at at, const struct nopal_segment *segment)
{
	struct nopal_destination *destination = sender_whose(at, segment);
	enum sender_repair max = SENDER_NOTHING;

	if (destination)
		max = sender_repair_all(at, destination, &segment->body, false);
	if (max == SENDER_TOO_LATE)
		nopal_destination_joined(
			at.session, nopal_destination_find(at.session, destination->id), false);
	else if (max == SENDER_REPAIRED)
		sender_answer(at, destination, &segment->body);
}

/* ----------------------------------------------------------------- reminders */

/* Whose cumulative ack does not move does not hear the channel any more, or its nak and report
 * would have come. */
static void sender_look(struct nopal_at at, uint32_t index)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	struct channel_sender *self = sender_of(at);
	struct nopal_destination *destination = nopal_destination_at(at.session, index);
	uint64_t *stays = &nopal_repair(destination)[CHANNEL_REPAIR_STAYS];

	if (!destination->joined)
		return;
	if (sender_from(self, destination) == self->multicast.end)
		*stays = 0;
	else if (!*stays)
		*stays = (uint64_t)at.session->now_ns;
	else if (at.session->now_ns - (int64_t)*stays > set->patience_ns)
		nopal_destination_joined(at.session, index, false);
}

void nopal__channel_remind(struct nopal_at at)
{
	struct channel_sender *self = sender_of(at);

	for (uint32_t i = 0; i < nopal_destination_count(at.session); i++)
		sender_look(at, i);
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
