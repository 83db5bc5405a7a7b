/* SPDX-License-Identifier: MIT */
/*
 * channel_receiver.c -- channel_repair at a destination: which segments are missing, when to ask
 * for them, and reports.
 *
 * A destination that misses a segment waits for a random time before it asks, so that of many that
 * miss the same one asks first.  The sender tells all which numbers it will multicast again; a
 * destination that misses no other waits for those, and so stays silent.
 *
 * Where a segment fills a hole and is no repair, the path reorders, and by how much is measured as
 * in rack_detection.  From then on a destination does not ask for a hole that is younger than that
 * and a quarter more; a late segment is not counted as missing.
 */
#include "channel_repair.h"

enum {
	RECEIVER_LATE_PART = 4, /* of how far the path reorders, more: as RACK */
	RECEIVER_PERSIST = 16,	/* RFC 8985, section 6.2, step 4 */
};

static struct channel_receiver *receiver_of(struct nopal_at at)
{
	struct channel_repair *self = nopal_state(at);

	return &self->receiver;
}

static bool receiver_misses(const struct channel_receiver *self)
{
	return self->seen.floor < self->top;
}

/* ------------------------------------------------------------------- asking */

static void receiver_wait(struct nopal_at at, int64_t min_ns)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	struct channel_receiver *self = receiver_of(at);
	uint64_t spread = (uint64_t)set->backoff_ns;
	int64_t late_ns = self->late_ns + self->late_ns / RECEIVER_LATE_PART;

	if (min_ns < late_ns)
		min_ns = late_ns;
	self->ripe = self->top;
	nopal_timer_start(at, CHANNEL_REPAIR_ASK,
			  at.session->now_ns + min_ns +
				  (int64_t)(nopal_random(at.session) % (spread + 1)));
}

/* After every change of what is missing. */
static void receiver_look(struct nopal_at at)
{
	const struct channel_receiver *self = receiver_of(at);

	if (!receiver_misses(self))
		nopal_timer_stop(at, CHANNEL_REPAIR_ASK);
	else if (!nopal_timer_running(at, CHANNEL_REPAIR_ASK))
		receiver_wait(at, 0);
}

/* The next number from `from` on that is missing, or is not, below the top. */
static uint64_t receiver_next(const struct channel_receiver *self, uint64_t from, bool missing)
{
	return nopal_numbers_next(&self->seen, from, self->top, !missing);
}

/* Asks for numbers up to the ripe ones, for a path that reorders may still bring the rest.  From
 * now on a segment may be one that was asked for. */
void nopal__channel_ask(struct nopal_at at)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	struct channel_receiver *self = receiver_of(at);
	uint32_t room = nopal_control_limit(at, CHANNEL_REPAIR_NAK);
	struct nopal_writer writer;
	struct nopal_segment *nak;
	uint64_t ripe, first, end = 0;

	if (!receiver_misses(self))
		return;
	ripe = self->late_ns ? self->ripe : self->top;
	if (receiver_next(self, self->seen.floor, true) >= ripe) {
		receiver_wait(at, 0);
		return;
	}
	if (room > CHANNEL_REPAIR_NAK_BYTES)
		room = CHANNEL_REPAIR_NAK_BYTES;
	nak = nopal_control_begin(at, CHANNEL_REPAIR_NAK, room, &writer);
	receiver_wait(at, set->again_ns);
	if (!nak)
		return;
	first = receiver_next(self, self->seen.floor, true);
	for (unsigned i = 0; i < CHANNEL_REPAIR_RANGES && first < ripe; i++) {
		struct nopal_writer before = writer;

		if (end)
			nopal_write_varint(&writer, first - end);
		else
			nopal_write(&writer, first, CHANNEL_REPAIR_NUMBER_BYTES);
		end = receiver_next(self, first, false);
		nopal_write_varint(&writer, end - first);
		if (writer.full) {
			writer = before;
			break;
		}
		first = receiver_next(self, end, true);
	}
	self->asked = true;
	self->repairs = ripe;
	if (self->persist && --self->persist == 0)
		self->late_ns = 0;
	nopal_shared_get(at, CHANNEL_REPAIR_NAKS)++;
	nopal_control_send(at.session, nak, nopal_written(&writer));
}

/* Will all missing segments come again? */
static bool receiver_covered(const struct channel_receiver *self, struct nopal_reader reader)
{
	struct channel_ranges ranges = nopal__channel_ranges(reader);
	uint64_t missing = receiver_next(self, self->seen.floor, true);

	while (missing < self->top && nopal__channel_next(&ranges)) {
		if (missing < ranges.first)
			return false;
		if (missing < ranges.end)
			missing = receiver_next(self, ranges.end, true);
	}
	return missing >= self->top;
}

/* ------------------------------------------------------------------ reports */

void nopal__channel_tell(struct nopal_at at)
{
	struct channel_receiver *self = receiver_of(at);
	struct nopal_writer writer;
	struct nopal_segment *report = nopal_control_begin(at, CHANNEL_REPAIR_REPORT,
							   CHANNEL_REPAIR_REPORT_BYTES, &writer);
	int64_t delay_ns = at.session->now_ns - self->latest_ns;
	uint64_t missing = self->missing > 0 ? (uint64_t)self->missing : 0;

	if (!report)
		return;
	nopal_write(&writer, self->seen.floor, CHANNEL_REPAIR_NUMBER_BYTES);
	nopal_write(&writer, self->latest, CHANNEL_REPAIR_NUMBER_BYTES);
	nopal_write(&writer, (uint64_t)(delay_ns / NOPAL_MICROSECOND), CHANNEL_REPAIR_COUNT_BYTES);
	nopal_write(&writer, self->arrived, CHANNEL_REPAIR_COUNT_BYTES);
	nopal_write(&writer, missing, CHANNEL_REPAIR_COUNT_BYTES);
	nopal_write(&writer, self->rows < missing ? self->rows : missing,
		    CHANNEL_REPAIR_COUNT_BYTES);
	nopal_control_send(at.session, report, CHANNEL_REPAIR_REPORT_BYTES);
	self->told = self->seen.floor;
	self->latest = 0;
	self->arrived = self->rows = 0;
	self->missing -= (int64_t)missing;
}

/* A report leaves after a random time, for not all destinations are to report at once; or now, when
 * it is about many segments. */
static void receiver_report(struct nopal_at at)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	const struct channel_receiver *self = receiver_of(at);
	int64_t half = set->report_ns / 2;

	if (self->seen.floor - self->told >= (uint64_t)set->every) {
		nopal_timer_stop(at, CHANNEL_REPAIR_TELL);
		nopal__channel_tell(at);
	} else if (!nopal_timer_running(at, CHANNEL_REPAIR_TELL)) {
		nopal_timer_start(
			at, CHANNEL_REPAIR_TELL,
			at.session->now_ns + half +
				(int64_t)(nopal_random(at.session) % (uint64_t)(half + 1)));
	}
}

/* ----------------------------------------------------------------- arrivals */

static bool receiver_prepare(struct nopal_at at)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	struct channel_receiver *self = receiver_of(at);

	if (self->seen.window || nopal_numbers_init(&self->seen, 1, (uint32_t)set->window) == 0)
		return true;
	nopal_session_break(at.session, NOPAL_RESOURCE,
			    "no room to remember which segments arrived");
	return false;
}

/* Where the destination's part begins: it waits for no segment before that. */
enum nopal_verdict nopal__channel_point(struct nopal_at at, struct nopal_segment *segment)
{
	struct channel_receiver *self = receiver_of(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t first = nopal_read(&reader, CHANNEL_REPAIR_NUMBER_BYTES);
	uint64_t order = nopal_read(&reader, CHANNEL_REPAIR_NUMBER_BYTES);
	struct nopal_forward forward = { .segment = first, .order = order };

	if (!nopal_is_destination(at.session) || self->first || !first ||
	    !nopal_read_complete(&reader) || !receiver_prepare(at))
		return NOPAL_CONTINUE;
	nopal_numbers_skip(&self->seen, first);
	nopal_serial_seen(at, CHANNEL_REPAIR_NUMBER, first);
	self->first = first;
	self->order = order;
	self->told = first;
	if (self->top < first)
		self->top = first;
	nopal_raise_FORWARD_RECEIVED(at.session, &forward);
	receiver_look(at);
	return NOPAL_CONTINUE;
}

/* All numbers below `end` are known to exist.  Segments that left before the first that came by the
 * channel come by our own session, and none of them is missing. */
static void receiver_up_to(struct nopal_session *session, struct channel_receiver *self,
			   uint64_t end)
{
	if (end <= self->top)
		return;
	if (self->latest_ns) {
		self->newest = (self->newest + 1) % CHANNEL_REPAIR_HOLES;
		self->holes[self->newest] = (struct channel_hole){ self->top, session->now_ns };
		self->missing += (int64_t)(end - self->top);
		self->rows++;
	} else {
		self->repairs = end;
	}
	self->top = end;
}

/* No destination is known to have asked for the segment that fills this hole: it was late.  One
 * that takes as long as a repair may is a repair whose announcement got lost. */
static void receiver_late(struct nopal_at at, uint64_t number)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	struct channel_receiver *self = receiver_of(at);
	uint32_t hole = self->newest, left = CHANNEL_REPAIR_HOLES;
	int64_t late_ns;

	self->missing--;
	while (left && self->holes[hole].first > number) {
		hole = (hole + CHANNEL_REPAIR_HOLES - 1) % CHANNEL_REPAIR_HOLES;
		left--;
	}
	if (!left || !self->holes[hole].found_ns)
		return; /* it is not known since when the number is missing */
	late_ns = at.session->now_ns - self->holes[hole].found_ns;
	if (late_ns >= set->again_ns)
		return;
	self->persist = RECEIVER_PERSIST;
	if (late_ns > self->late_ns)
		self->late_ns = late_ns;
}

/* Rebuilt segments, and those of our own session, did not come by the channel; of repairs no round
 * trip is known. */
enum nopal_verdict nopal__channel_data(struct nopal_at at, struct nopal_segment *segment)
{
	struct channel_receiver *self = receiver_of(at);
	uint64_t number = nopal_get(at, segment, CHANNEL_REPAIR_NUMBER);
	bool multicast = segment->path == NOPAL_PATH_CHANNEL;
	enum nopal_number_is is;

	if (!number)
		return NOPAL_CONTINUE; /* for us alone */
	if (!nopal_is_destination(at.session) || number < self->first ||
	    (multicast && !self->first) || !receiver_prepare(at))
		return NOPAL_STOP;
	is = nopal_numbers_mark(at.session, &self->seen, number);
	if (is == NOPAL_NUMBER_SEEN || (is == NOPAL_NUMBER_BEYOND && multicast))
		return NOPAL_STOP;
	if (is == NOPAL_NUMBER_NEW) {
		self->arrived += multicast;
		if (number >= self->top) {
			receiver_up_to(at.session, self, number);
			self->top = number + 1;
			nopal_serial_seen(at, CHANNEL_REPAIR_NUMBER, number);
			self->latest = multicast ? number : 0;
			if (multicast)
				self->latest_ns = at.session->now_ns;
		} else if (multicast && number >= self->repairs) {
			receiver_late(at, number);
		}
		receiver_look(at);
		receiver_report(at);
	}
	return nopal_get(at, segment, CHANNEL_REPAIR_MESSAGE) < self->order ? NOPAL_STOP
									    : NOPAL_CONTINUE;
}

/* The sender's highest number, and the numbers that it multicasts again. */
enum nopal_verdict nopal__channel_top(struct nopal_at at, struct nopal_segment *segment)
{
	const struct channel_repair_parameters *set = nopal_parameters(at);
	struct channel_receiver *self = receiver_of(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t end = nopal_read(&reader, CHANNEL_REPAIR_NUMBER_BYTES);

	if (reader.bad || !self->first || segment->path != NOPAL_PATH_CHANNEL ||
	    end > self->seen.floor + (uint64_t)set->window)
		return NOPAL_CONTINUE;
	receiver_up_to(at.session, self, end);
	if (nopal_read_left(&reader) && end > self->repairs)
		self->repairs = end;
	if (nopal_read_left(&reader) && receiver_misses(self) && receiver_covered(self, reader)) {
		nopal_shared_get(at, CHANNEL_REPAIR_SUPPRESSED) += !self->asked;
		self->asked = false;
		receiver_wait(at, set->again_ns);
		return NOPAL_CONTINUE;
	}
	receiver_look(at);
	receiver_report(at);
	return NOPAL_CONTINUE;
}
