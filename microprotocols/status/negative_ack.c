/* SPDX-License-Identifier: MIT */
/*
 * negative_ack -- negative acknowledgement (NAK): the receiver asks for missing segments at once.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.B.
 * Differs:   waits until `reorder` later segments have come, and asks again for
 *            what stays missing; names the packet number that came last, so
 *            that a resend on its way is not taken for lost until it has had
 *            time to arrive.
 * Wire:      nak: largest packet number 4, first missing number 4, and then its length (varint)
 *            and, for each range more, the gap to it (varint) and its length (varint).
 */
#include "ack_report.h"
#include "outstanding.h"

struct negative_ack_parameters {
	int64_t reorder, repeat_ns, attempts;
};

/* attributes */
enum { NEGATIVE_ACK_NUMBER };
/* shared variables */
enum {
	NEGATIVE_ACK_LOCAL,
	NEGATIVE_ACK_PEER,
	NEGATIVE_ACK_UNMET,
	NEGATIVE_ACK_RTT,
};
enum { NEGATIVE_ACK_NAK };    /* kinds */
enum { NEGATIVE_ACK_REPEAT }; /* timers */

enum {
	NEGATIVE_ACK_RANGES = 64, /* remembered, and told at once */
	NEGATIVE_ACK_NUMBER_BYTES = 4,
	/* Longest nak: numbers are 64 bits, a varint has 7 a byte. */
	NEGATIVE_ACK_VARINT = 10,
	NEGATIVE_ACK_BYTES = 4 + 4 + NEGATIVE_ACK_RANGES * 2 * NEGATIVE_ACK_VARINT,
	NEGATIVE_ACK_ROUND_TRIPS = 2,
};

/* Numbers that have not come: [first, end), asked for `asked` times. */
struct negative_ack_range {
	uint64_t first, end;
	int64_t again_ns;
	uint32_t asked;
};

struct negative_ack {
	struct outstanding sent; /* of ours: number to segment */
	uint64_t end;		 /* one past the peer's highest */
	uint64_t latest;	 /* largest packet number of the peer */
	uint32_t count;
	struct negative_ack_range hole[NEGATIVE_ACK_RANGES]; /* in order */
};

static enum nopal_verdict negative_ack_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct negative_ack *self = nopal_state(at);

	(void)subject;
	outstanding_begin(&self->sent, (uint64_t)nopal_shared_get(at, NEGATIVE_ACK_LOCAL));
	self->end = (uint64_t)nopal_shared_get(at, NEGATIVE_ACK_PEER);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------- missing at us */

static void negative_ack_drop(struct negative_ack *self, uint32_t index)
{
	self->count--;
	for (uint32_t i = index; i < self->count; i++)
		self->hole[i] = self->hole[i + 1];
}

/* Where there is no room, the oldest hole is forgotten: a timeout of the sender finds it. */
static void negative_ack_insert(struct negative_ack *self, uint32_t index,
				struct negative_ack_range range)
{
	if (self->count == NEGATIVE_ACK_RANGES) {
		if (index == 0)
			return;
		negative_ack_drop(self, 0);
		index--;
	}
	for (uint32_t i = self->count++; i > index; i--)
		self->hole[i] = self->hole[i - 1];
	self->hole[index] = range;
}

/* A number came that was missing: its hole shrinks, ends, or becomes two. */
static void negative_ack_fill(struct negative_ack *self, uint64_t number)
{
	for (uint32_t i = self->count; i-- > 0;) {
		struct negative_ack_range *hole = &self->hole[i];
		struct negative_ack_range rest = *hole;

		if (number < hole->first || number >= hole->end)
			continue;
		if (hole->first == number && ++hole->first == hole->end) {
			negative_ack_drop(self, i);
		} else if (hole->end == number + 1) {
			hole->end = number;
		} else if (rest.first != number) {
			hole->end = number;
			rest.first = number + 1;
			negative_ack_insert(self, i + 1, rest);
		}
		return;
	}
}

static enum nopal_verdict negative_ack_on_verified(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct negative_ack *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, NEGATIVE_ACK_NUMBER);

	if (segment->packet_number > self->latest)
		self->latest = segment->packet_number;
	if (number < self->end) {
		negative_ack_fill(self, number);
		return NOPAL_CONTINUE;
	}
	if (number > self->end)
		negative_ack_insert(
			self, self->count,
			(struct negative_ack_range){ .first = self->end, .end = number });
	self->end = number + 1;
	return NOPAL_CONTINUE;
}

/* Nothing below is asked for any more. */
static enum nopal_verdict negative_ack_on_gave_up(struct nopal_at at, struct nopal_forward *forward)
{
	struct negative_ack *self = nopal_state(at);

	for (uint32_t i = self->count; i-- > 0;) {
		if (self->hole[i].end <= forward->segment)
			negative_ack_drop(self, i);
		else if (self->hole[i].first < forward->segment)
			self->hole[i].first = forward->segment;
	}
	if (self->end < forward->segment)
		self->end = forward->segment;
	return NOPAL_CONTINUE;
}

/* Is it time to ask for the hole?  New ones wait until enough has overtaken. */
static bool negative_ack_due(const struct nopal_session *session,
			     const struct negative_ack_parameters *set,
			     const struct negative_ack *self, const struct negative_ack_range *hole)
{
	if (hole->asked)
		return hole->again_ns <= session->now_ns;
	return self->end - hole->end >= (uint64_t)set->reorder;
}

/* How long a resend may take before it is asked for again. */
static int64_t negative_ack_wait(struct nopal_at at)
{
	const struct negative_ack_parameters *set = nopal_parameters(at);
	int64_t wait_ns = nopal_shared_get(at, NEGATIVE_ACK_RTT) * NEGATIVE_ACK_ROUND_TRIPS;

	return wait_ns > set->repeat_ns ? wait_ns : set->repeat_ns;
}

/* Writes the holes that are due. */
static void negative_ack_write(struct nopal_at at, struct nopal_writer *writer)
{
	const struct negative_ack_parameters *set = nopal_parameters(at);
	struct negative_ack *self = nopal_state(at);
	uint64_t end = 0; /* 0: none is written */

	nopal_write(writer, self->latest, NEGATIVE_ACK_NUMBER_BYTES);
	for (uint32_t i = 0; i < self->count; i++) {
		struct negative_ack_range *hole = &self->hole[i];
		struct nopal_writer before = *writer;

		if (!negative_ack_due(at.session, set, self, hole))
			continue;
		if (end)
			nopal_write_varint(writer, hole->first - end);
		else
			nopal_write(writer, hole->first, NEGATIVE_ACK_NUMBER_BYTES);
		nopal_write_varint(writer, hole->end - hole->first);
		if (writer->full) {
			*writer = before;
			break;
		}
		hole->asked++;
		hole->again_ns = at.session->now_ns + negative_ack_wait(at);
		end = hole->end;
	}
}

/* Asks for the holes that are due; then forgets those that were asked for often enough, and wakes
 * for the rest. */
static enum nopal_verdict negative_ack_on_turn_end(struct nopal_at at,
						   struct nopal_session *subject)
{
	const struct negative_ack_parameters *set = nopal_parameters(at);
	struct negative_ack *self = nopal_state(at);
	int64_t max = nopal_shared_get(at, NEGATIVE_ACK_UNMET) ? set->attempts : 1;
	int64_t next_ns = NOPAL_NEVER;
	uint32_t length = nopal_control_limit(at, NEGATIVE_ACK_NAK), i = 0;
	struct nopal_segment *segment;
	struct nopal_writer writer;

	(void)subject;
	while (i < self->count && !negative_ack_due(at.session, set, self, &self->hole[i]))
		i++;
	if (i == self->count)
		return NOPAL_CONTINUE;
	if (length > NEGATIVE_ACK_BYTES)
		length = NEGATIVE_ACK_BYTES;
	segment = nopal_control_begin(at, NEGATIVE_ACK_NAK, length, &writer);
	if (!segment)
		return NOPAL_CONTINUE;
	negative_ack_write(at, &writer);
	nopal_control_send(at.session, segment, nopal_written(&writer));
	for (i = self->count; i-- > 0;) {
		if (self->hole[i].asked >= max)
			negative_ack_drop(self, i);
		else if (self->hole[i].asked && self->hole[i].again_ns < next_ns)
			next_ns = self->hole[i].again_ns;
	}
	if (next_ns == NOPAL_NEVER)
		nopal_timer_stop(at, NEGATIVE_ACK_REPEAT);
	else
		nopal_timer_start(at, NEGATIVE_ACK_REPEAT, next_ns);
	return NOPAL_CONTINUE;
}

/* The end of this turn asks again. */
static void negative_ack_when_repeat(struct nopal_at at)
{
	(void)at;
}

/* ----------------------------------------------------------- missing at them */

static enum nopal_verdict negative_ack_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct negative_ack *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, NEGATIVE_ACK_NUMBER);

	if (segment->transmissions == 1)
		outstanding_track(at.session, &self->sent, number, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict negative_ack_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	struct negative_ack *self = nopal_state(at);

	outstanding_close(&self->sent, nopal_get(at, segment, NEGATIVE_ACK_NUMBER));
	return NOPAL_CONTINUE;
}

/* The transmission of a missing number is the last one only when that is not later than the largest
 * that the peer has seen, or when it has had time to arrive. */
static void negative_ack_lost(struct nopal_at at, uint64_t first, uint64_t end, uint64_t largest)
{
	const struct negative_ack *self = nopal_state(at);

	if (first < self->sent.base)
		first = self->sent.base;
	for (; first < end && first < self->sent.end; first += OUTSTANDING_WORD) {
		uint64_t word = outstanding_open(&self->sent, first);

		if (end - first < OUTSTANDING_WORD)
			word &= (UINT64_C(1) << (end - first)) - 1;
		for (; word; word &= word - 1) {
			uint64_t number = first + (unsigned)__builtin_ctzll(word);
			struct nopal_segment *segment =
				outstanding_find(at.session, &self->sent, number);
			const struct nopal_transmission *last = NULL;

			if (segment)
				last = nopal_transmission_find(at.session, segment->packet_number);
			if (!last || !last->open ||
			    (segment->packet_number > largest &&
			     (at.session->now_ns - segment->transmitted_ns) *
					     NEGATIVE_ACK_ROUND_TRIPS <
				     negative_ack_wait(at)))
				continue;
			nopal_segment_settle(at.session, segment);
			nopal_raise_SEGMENT_LOST(at.session, segment);
		}
	}
}

/* The next range; false at the end, and where it does not follow the one before, is empty, or goes
 * beyond what we sent. */
static bool negative_ack_next(struct nopal_reader *reader, const struct negative_ack *self,
			      bool begins, uint64_t *first, uint64_t *end)
{
	uint64_t length;

	if (!nopal_read_left(reader))
		return false;
	if (!begins) {
		uint64_t gap = nopal_read_varint(reader);

		reader->bad |= !gap || gap > self->sent.end - *end;
		*first = *end + gap;
	}
	length = nopal_read_varint(reader);
	if (reader->bad || !length || *first > self->sent.end || length > self->sent.end - *first) {
		reader->bad = true;
		return false;
	}
	*end = *first + length;
	return true;
}

/* All of it is checked before anything changes. */
static enum nopal_verdict negative_ack_on_nak(struct nopal_at at, struct nopal_segment *segment)
{
	const struct negative_ack *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t next = nopal_next_packet_number(at.session);
	uint64_t largest = nopal_read(&reader, NEGATIVE_ACK_NUMBER_BYTES);
	uint64_t first = nopal_read(&reader, NEGATIVE_ACK_NUMBER_BYTES);
	struct nopal_reader whole = reader;
	uint64_t begin, end;
	bool begins = true;

	if (reader.bad || !next || !ack_report_expand(next - 1, largest, &largest) ||
	    !ack_report_expand(self->sent.end, first, &first))
		return NOPAL_STOP;
	begin = end = first;
	while (negative_ack_next(&whole, self, begins, &begin, &end))
		begins = false;
	if (!nopal_read_complete(&whole) || begins)
		return NOPAL_STOP;
	begins = true;
	for (end = first; negative_ack_next(&reader, self, begins, &first, &end); begins = false)
		negative_ack_lost(at, first, end, largest);
	return NOPAL_STOP;
}

static void negative_ack_idle(struct nopal_at at)
{
	struct negative_ack *self = nopal_state(at);

	outstanding_idle(at.session, &self->sent);
}

const struct nopal_microprotocol nopal_negative_ack = {
	NOPAL_DESCRIBE(
		negative_ack, status,
		"negative acknowledgement (NAK): the receiver asks for missing segments at once"),
	.provides = NOPAL_ROLES({ "loss_detection" }),
	.needs = NOPAL_RELATIONS(
		{ "segment_numbers", "missing segments are a gap in numbers" },
		{ "acknowledgement", "without status a segment is forgotten as it leaves" }),
	.parameters_size = sizeof(struct negative_ack_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* as RFC 5681, section 3.2 */
		NOPAL_NUMBER(negative_ack, reorder, "reorder", COUNT, "3", "0", "1000",
			     "segments that may overtake one before it counts as missing"),
		NOPAL_NUMBER(negative_ack, repeat_ns, "repeat", TIME, "100ms", "1ms", "60s",
			     "wait before asking again, and two round trips at least",
			     .waits = NOPAL_WAITS_LONGEST),
		NOPAL_NUMBER(negative_ack, attempts, "attempts", COUNT, "3", "1", "100",
			     "requests for a segment, where segments are resent",
			     .waits = NOPAL_WAITS_ATTEMPTS)),
	.attributes = NOPAL_ATTRIBUTES([NEGATIVE_ACK_NUMBER] = { "segment_number", NOPAL_READ }),
	.shared = NOPAL_SHARED([NEGATIVE_ACK_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL, 1,
							"our first number" },
			       [NEGATIVE_ACK_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
						       "the peer's first number" },
			       [NEGATIVE_ACK_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
							"1: missing segments will be sent again" },
			       [NEGATIVE_ACK_RTT] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
						      "a round trip" }),
	.kinds = NOPAL_KINDS([NEGATIVE_ACK_NAK] = { "nak", NOPAL_KIND_CONTROL,
						    "the segments that are missing" }),
	.timers = NOPAL_TIMERS([NEGATIVE_ACK_REPEAT] = { "repeat", negative_ack_when_repeat }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SESSION_OPENED, negative_ack_on_opened),
		NOPAL_ON(SEND_SEGMENT, negative_ack_on_send),
		NOPAL_ON_OWN(NEGATIVE_ACK_NAK, negative_ack_on_nak),
		NOPAL_ON(SEGMENT_VERIFIED, negative_ack_on_verified, .before = "message_segments"),
		NOPAL_ON(SEGMENT_DONE, negative_ack_on_done),
		NOPAL_ON(FORWARD_RECEIVED, negative_ack_on_gave_up),
		NOPAL_ON(TURN_END, negative_ack_on_turn_end)),
	.raises = NOPAL_RAISES("SEGMENT_LOST", "SESSION_BROKEN"),
	.state_size = sizeof(struct negative_ack),
	.idle = negative_ack_idle,
};
