/* SPDX-License-Identifier: MIT */
/*
 * positive_ack -- tell the sender what arrived, and the sender's side of that.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.B and figure 3; RFC 2018
 *            (selective reports), RFC 6298, section 5 (timeouts).
 * Differs:   an acknowledgement also names the packet number that came last, so
 *            every one is a clean sample of the round trip.  It is decided once
 *            a turn, not for each segment.  Where an unseen segment is no longer
 *            needed, the floor passes it, and its fate is told as unknown.
 * Needs:     segment_numbers.
 * Provides:  acknowledgement (exclusive).
 * Excludes:  nothing.
 * Handles:   SESSION_OPENED, SEGMENT_TO_NET, SEND_SEGMENT, SEGMENT_FROM_NET,
 *            SEGMENT_VERIFIED, SEGMENT_RECEIVED, SEGMENT_LOST, SEGMENT_TIMEOUT,
 *            TURN_END.
 * Raises:    ACK_FROM_NET, SEGMENT_RECEIVED, ACK_PROCESSED, SEGMENT_TIMEOUT,
 *            SESSION_BROKEN.
 * Holds:     send: until the peer can keep track of the segment; done,
 *            deallocate: until the segment's status is known.
 * Wire:      ack (control): largest packet number 4, floor 4, whether the bitmap
 *            was cut 1 bit, delay in 8 us 15 bits; where `selective` is on, a
 *            bitmap of what arrived above the floor, bit 0 of its first byte is
 *            floor + 1, its last byte is not 0;
 *            ack_floor, 4 bytes, on data, where `piggyback` is on.
 * Shares:    reads initial_local, initial_peer (optional, 1): the first numbers;
 *            reads reliability_unmet (optional, 0): 1, an unseen segment is
 *            still needed; reads timeout_ns (optional, 1 s): how long to wait
 *            for a status; reads segment_window (optional, 65536): numbers that
 *            the peer's filter remembers.
 * Parameters: every (default 2): segments that are acknowledged at once;
 *            delay (default 25ms): longest wait for that many;
 *            selective (default off): report what lies above the floor;
 *            piggyback (default off): data carries the floor;
 *            window (default 65536): segments that may be outstanding;
 *            timeout_min (default 1ms): the shortest wait for a status,
 *            whatever the estimate;
 *            timeout_max (default 60s): the longest, backed off;
 *            backoff (default 6): doublings of the wait without progress.
 *
 *   sender                                  receiver
 *   data 7 ------------------------------>  7 is marked
 *   data 8 -------------- x                 (8 is lost)
 *   data 9 ------------------------------>  9 is marked, a hole: say so now
 *        <--- ack floor 8, bitmap 1 ------
 *   ACK_FROM_NET, SEGMENT_RECEIVED 7, 9, ACK_PROCESSED
 */
#include "outstanding.h"

struct positive_ack_parameters {
	int64_t every, delay_ns, selective, piggyback, window;
	int64_t timeout_min_ns, timeout_max_ns, backoff;
};

enum { POSITIVE_ACK_NUMBER, POSITIVE_ACK_FLOOR }; /* attributes */
enum {						  /* shared variables */
	POSITIVE_ACK_LOCAL,
	POSITIVE_ACK_PEER,
	POSITIVE_ACK_UNMET,
	POSITIVE_ACK_TIMEOUT,
	POSITIVE_ACK_WINDOW,
};
enum { POSITIVE_ACK_ACK };			     /* kinds */
enum { POSITIVE_ACK_STATUS, POSITIVE_ACK_DELAY };    /* timers */

enum {
	POSITIVE_ACK_NUMBER_BYTES = 4,
	POSITIVE_ACK_DELAY_BYTES = 2,
	POSITIVE_ACK_BYTES = 4 + 4 + 2, /* of an ack without bitmap */
	POSITIVE_ACK_CUT = 1 << 15,
	POSITIVE_ACK_DELAY_MOST = POSITIVE_ACK_CUT - 1,
	POSITIVE_ACK_BYTE_BITS = 8,
	POSITIVE_ACK_WORD_BITS = 64,
	/* How far the floor stays behind the highest number at a hole that
	 * nobody will fill: time for the sender to learn of it. */
	POSITIVE_ACK_HINDSIGHT = 64,
};
static const int64_t POSITIVE_ACK_DELAY_UNIT_NS = 8 * NOPAL_MICROSECOND;

struct positive_ack {
	/* of what we send */
	struct outstanding sent;
	struct nopal_queue waiting; /* beyond what the peer can track */
	struct nopal_queue passing; /* away, and not data */
	uint64_t largest;	    /* packet number that the peer reported */
	bool reported;		    /* there is one */
	uint32_t backoff;
	int64_t progress_ns; /* when something was reported last */
	int64_t status_ns;   /* when the status timer fires */

	/* of what the peer sends */
	struct nopal_numbers seen; /* made with the first arrival */
	uint64_t first;		   /* number of the peer's first */
	uint64_t latest;	   /* largest packet number */
	int64_t latest_ns;	   /* its arrival; 0: none yet */
	uint32_t unacked;	   /* arrivals since the last ack */
	bool at_once;		   /* one of them must not wait */
	bool other;		   /* one of them was not data */
};

/* What an ack says, checked as a whole. */
struct positive_ack_report {
	struct nopal_ack ack;
	const uint8_t *bitmap;
	size_t bytes;
	uint64_t highest; /* number that it reports; below the floor: none above */
};

/* Numbers up to this far below the highest that is reported surely arrived
 * where the floor has passed them; 0: all. */
static uint64_t positive_ack_reach(struct nopal_session *session,
				   const struct nopal_part *part)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);

	if (nopal_shared(session, part, POSITIVE_ACK_UNMET))
		return 0;
	return set->selective ? POSITIVE_ACK_HINDSIGHT : 1;
}

static enum nopal_verdict positive_ack_on_opened(struct nopal_session *session,
						 const struct nopal_part *part,
						 struct nopal_session *subject)
{
	struct positive_ack *self = nopal_state(session, part);
	uint64_t local =
		(uint64_t)nopal_shared(session, part, POSITIVE_ACK_LOCAL);

	(void)subject;
	outstanding_begin(&self->sent, local);
	self->first = (uint64_t)nopal_shared(session, part, POSITIVE_ACK_PEER);
	nopal_serial_seen(session, part, POSITIVE_ACK_FLOOR, local);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------------- departing */

static bool positive_ack_has_room(struct nopal_session *session,
				  const struct nopal_part *part,
				  const struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	const struct positive_ack *self = nopal_state(session, part);
	int64_t window = nopal_shared(session, part, POSITIVE_ACK_WINDOW);

	if (window > set->window)
		window = set->window;
	return nopal_get(segment, part, POSITIVE_ACK_NUMBER) <
	       self->sent.base + (uint64_t)window;
}

static enum nopal_verdict positive_ack_on_to_net(struct nopal_session *session,
						 const struct nopal_part *part,
						 struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(session, part);

	if (!self->waiting.count &&
	    positive_ack_has_room(session, part, segment))
		nopal_release(session, part, segment, NOPAL_SEND);
	else if (nopal_queue_push(session, &self->waiting, segment) < 0)
		nopal_session_break(session, NOPAL_RESOURCE,
				    "no room for a segment that waits");
	return NOPAL_CONTINUE;
}

static enum nopal_verdict positive_ack_on_grant(struct nopal_session *session,
						const struct nopal_part *part,
						struct nopal_session *subject)
{
	struct positive_ack *self = nopal_state(session, part);
	struct nopal_segment *segment;

	(void)subject;
	while (self->waiting.count &&
	       (segment = nopal_queue_first(session, &self->waiting)) &&
	       positive_ack_has_room(session, part, segment)) {
		nopal_queue_pop(&self->waiting);
		nopal_release(session, part, segment, NOPAL_SEND);
	}
	return NOPAL_CONTINUE;
}

static void positive_ack_acked(struct nopal_session *session,
			       const struct nopal_part *part)
{
	struct positive_ack *self = nopal_state(session, part);

	self->unacked = 0;
	self->at_once = false;
	self->other = false;
	nopal_timer_stop(session, part, POSITIVE_ACK_DELAY);
}

static uint64_t positive_ack_floor(const struct positive_ack *self)
{
	return self->seen.bits ? self->seen.floor : self->first;
}

/* A resend carries the floor of the first departure: redundancy codes over it.
 * Where the floor is all there is to say, no ack of its own is owed. */
static void positive_ack_ride(struct nopal_session *session,
			      const struct nopal_part *part,
			      struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(session, part);

	nopal_set(segment, part, POSITIVE_ACK_FLOOR, positive_ack_floor(self));
	if (self->unacked && !self->other && self->seen.end == self->seen.floor &&
	    positive_ack_reach(session, part) != POSITIVE_ACK_HINDSIGHT)
		positive_ack_acked(session, part);
}

static int64_t positive_ack_wait(struct nopal_session *session,
				 const struct nopal_part *part)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	int64_t wait_ns = nopal_shared(session, part, POSITIVE_ACK_TIMEOUT);

	return wait_ns > set->timeout_min_ns ? wait_ns : set->timeout_min_ns;
}

static int64_t positive_ack_backed_off(struct nopal_session *session,
				       const struct nopal_part *part)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	const struct positive_ack *self = nopal_state(session, part);
	int64_t wait_ns = positive_ack_wait(session, part);

	for (uint32_t i = 0; i < self->backoff && wait_ns < set->timeout_max_ns;
	     i++)
		wait_ns *= 2;
	return wait_ns < set->timeout_max_ns ? wait_ns : set->timeout_max_ns;
}

static void positive_ack_watch(struct nopal_session *session,
			       const struct nopal_part *part, int64_t status_ns)
{
	struct positive_ack *self = nopal_state(session, part);

	self->status_ns = status_ns;
	nopal_timer_start(session, part, POSITIVE_ACK_STATUS, status_ns);
}

static enum nopal_verdict positive_ack_on_send(struct nopal_session *session,
					       const struct nopal_part *part,
					       struct nopal_segment *segment)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	struct positive_ack *self = nopal_state(session, part);
	int kept = 0;

	if (segment->kind)
		kept = nopal_queue_push(session, &self->passing, segment);
	else if (segment->departures == 1)
		kept = outstanding_add(session, &self->sent,
				       nopal_get(segment, part,
						 POSITIVE_ACK_NUMBER),
				       segment->handle);
	if (kept < 0)
		nopal_session_break(session, NOPAL_RESOURCE,
				    "no room to keep track of a segment");
	if (!segment->kind && segment->departures == 1 && set->piggyback)
		positive_ack_ride(session, part, segment);
	if (!nopal_timer_running(session, part, POSITIVE_ACK_STATUS))
		positive_ack_watch(session, part,
				   session->now_ns +
					   positive_ack_backed_off(session,
								   part));
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------ status of departures */

static const struct nopal_departure *
positive_ack_oldest(struct nopal_session *session)
{
	uint64_t end = nopal_next_packet_number(session);

	for (uint64_t at = nopal_oldest_departure(session); at < end; at++) {
		const struct nopal_departure *departure =
			nopal_departure_find(session, at);

		if (departure && departure->open)
			return departure;
	}
	return NULL;
}

/* When the oldest departure will have waited too long; NOPAL_NEVER: none is
 * open. */
static int64_t positive_ack_deadline(struct nopal_session *session,
				     const struct nopal_part *part)
{
	const struct positive_ack *self = nopal_state(session, part);
	const struct nopal_departure *oldest = positive_ack_oldest(session);
	int64_t since_ns;

	if (!oldest)
		return NOPAL_NEVER;
	since_ns = oldest->time_ns > self->progress_ns ? oldest->time_ns :
							 self->progress_ns;
	return since_ns + positive_ack_backed_off(session, part);
}

static void positive_ack_overdue(struct nopal_session *session, int64_t left_ns)
{
	uint64_t end = nopal_next_packet_number(session);

	for (uint64_t at = nopal_oldest_departure(session); at < end; at++) {
		const struct nopal_departure *departure =
			nopal_departure_find(session, at);
		struct nopal_segment *segment;

		if (!departure || !departure->open)
			continue;
		if (departure->time_ns > left_ns)
			return;
		segment = nopal_segment_find(session, departure->segment);
		nopal_departure_settle(session, at);
		if (segment)
			nopal_raise_SEGMENT_TIMEOUT(session, segment);
	}
}

/* The timer is not moved with every departure; it looks when it fires. */
static void positive_ack_when_status(struct nopal_session *session,
				     const struct nopal_part *part)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	struct positive_ack *self = nopal_state(session, part);
	int64_t wait_ns = positive_ack_wait(session, part);
	int64_t deadline_ns = positive_ack_deadline(session, part);

	if (deadline_ns <= session->now_ns) {
		if (self->backoff < set->backoff)
			self->backoff++;
		positive_ack_overdue(session, session->now_ns - wait_ns);
		deadline_ns = positive_ack_deadline(session, part);
	}
	if (deadline_ns != NOPAL_NEVER)
		positive_ack_watch(session, part, deadline_ns);
}

static void positive_ack_release(struct nopal_session *session,
				 const struct nopal_part *part,
				 struct nopal_segment *segment)
{
	if (nopal_holds(part, segment, NOPAL_DEALLOCATE))
		nopal_release(session, part, segment, NOPAL_DEALLOCATE);
	if (nopal_holds(part, segment, NOPAL_FINISH))
		nopal_release(session, part, segment, NOPAL_FINISH);
}

static enum nopal_verdict
positive_ack_on_received(struct nopal_session *session,
			 const struct nopal_part *part,
			 struct nopal_segment *segment)
{
	positive_ack_release(session, part, segment);
	return NOPAL_CONTINUE;
}

/* Lost or overdue: where nobody sends it again, this is its end. */
static enum nopal_verdict
positive_ack_on_missing(struct nopal_session *session,
			const struct nopal_part *part,
			struct nopal_segment *segment)
{
	struct positive_ack *self = nopal_state(session, part);
	uint64_t number = nopal_get(segment, part, POSITIVE_ACK_NUMBER);

	if (segment->kind) {
		positive_ack_release(session, part, segment);
		return NOPAL_CONTINUE;
	}
	if (nopal_shared(session, part, POSITIVE_ACK_UNMET))
		return NOPAL_CONTINUE;
	if (outstanding_is_open(&self->sent, number)) {
		outstanding_take(&self->sent, number);
		segment->fate = NOPAL_MISSING;
	}
	positive_ack_release(session, part, segment);
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------- what an ack reports */

static void positive_ack_arrived(struct nopal_session *session,
				 const struct nopal_part *part,
				 struct nopal_ack *ack, uint64_t number,
				 enum nopal_fate fate)
{
	struct positive_ack *self = nopal_state(session, part);
	struct nopal_segment *segment = nopal_segment_find(
		session, outstanding_take(&self->sent, number));

	if (!segment)
		return;
	segment->fate = (uint8_t)fate;
	nopal_segment_settle(session, segment);
	ack->newly_acked_segments++;
	ack->newly_acked_bytes += segment->body.length;
	nopal_raise_SEGMENT_RECEIVED(session, segment);
}

static void positive_ack_below_floor(struct nopal_session *session,
				     const struct nopal_part *part,
				     struct positive_ack_report *report)
{
	struct positive_ack *self = nopal_state(session, part);
	uint64_t reach = positive_ack_reach(session, part);

	while (self->sent.base < report->ack.floor) {
		uint64_t number = self->sent.base;
		bool surely = !reach || number + reach > report->highest;

		if (outstanding_is_open(&self->sent, number))
			positive_ack_arrived(session, part, &report->ack,
					     number,
					     surely ? NOPAL_ARRIVED :
						      NOPAL_UNKNOWN);
		else
			outstanding_advance(&self->sent);
	}
}

/* Eight bytes of the bitmap from byte `at` as a word, bit 0 first. */
static uint64_t positive_ack_word(const struct positive_ack_report *report,
				  size_t at)
{
	uint64_t word = 0;

	for (size_t i = 0; i < sizeof(word) && at + i < report->bytes; i++)
		word |= (uint64_t)report->bitmap[at + i]
			<< (i * POSITIVE_ACK_BYTE_BITS);
	return word;
}

static void positive_ack_above_floor(struct nopal_session *session,
				     const struct nopal_part *part,
				     struct positive_ack_report *report)
{
	struct positive_ack *self = nopal_state(session, part);

	for (size_t at = 0; at < report->bytes; at += sizeof(uint64_t)) {
		uint64_t from = report->ack.floor + 1 +
				at * POSITIVE_ACK_BYTE_BITS;
		uint64_t word = positive_ack_word(report, at);
		uint64_t skip = from < self->sent.base ? self->sent.base - from :
							 0;

		if (skip >= POSITIVE_ACK_WORD_BITS ||
		    from + skip >= self->sent.end)
			continue;
		word &= outstanding_open(&self->sent, from + skip) << skip;
		for (; word; word &= word - 1)
			positive_ack_arrived(session, part, &report->ack,
					     from + (unsigned)__builtin_ctzll(
							    word),
					     NOPAL_ARRIVED);
	}
}

/* What is not data is off the network when something later arrived. */
static void positive_ack_pass(struct nopal_session *session,
			      const struct nopal_part *part)
{
	struct positive_ack *self = nopal_state(session, part);
	struct nopal_segment *segment;

	while (self->passing.count &&
	       (segment = nopal_queue_first(session, &self->passing)) &&
	       segment->packet_number <= self->largest) {
		nopal_queue_pop(&self->passing);
		nopal_segment_settle(session, segment);
		positive_ack_release(session, part, segment);
	}
}

static void positive_ack_process(struct nopal_session *session,
				 const struct nopal_part *part,
				 struct positive_ack_report *report)
{
	struct positive_ack *self = nopal_state(session, part);
	struct nopal_ack *ack = &report->ack;
	int64_t deadline_ns;

	self->largest = ack->largest;
	self->reported = true;
	nopal_raise_ACK_FROM_NET(session, ack);
	positive_ack_below_floor(session, part, report);
	positive_ack_above_floor(session, part, report);
	positive_ack_pass(session, part);
	if (outstanding_is_open(&self->sent, ack->floor))
		ack->floor_segment = outstanding_at(&self->sent, ack->floor);
	if (ack->newly_acked_segments) {
		self->progress_ns = session->now_ns;
		self->backoff = 0;
	}
	nopal_raise_ACK_PROCESSED(session, ack);
	deadline_ns = positive_ack_deadline(session, part);
	if (deadline_ns < self->status_ns)
		positive_ack_watch(session, part, deadline_ns);
}

/* The number at or below `latest` whose low bits came on the wire; false where
 * it would be above. */
static bool positive_ack_expand(uint64_t latest, uint64_t wire,
				uint64_t *ret_number)
{
	uint32_t behind = (uint32_t)latest - (uint32_t)wire;

	if (behind > INT32_MAX || behind > latest)
		return false;
	*ret_number = latest - behind;
	return true;
}

/* Checks all before anything changes. */
static bool positive_ack_parse(struct nopal_session *session,
			       const struct nopal_part *part,
			       const struct nopal_segment *segment,
			       struct positive_ack_report *report)
{
	const struct positive_ack_parameters *set = nopal_parameters(part);
	const struct positive_ack *self = nopal_state(session, part);
	struct nopal_reader reader = {
		.at = segment->body.bytes,
		.end = segment->body.bytes + segment->body.length,
	};
	uint64_t largest = nopal_read(&reader, POSITIVE_ACK_NUMBER_BYTES);
	uint64_t floor = nopal_read(&reader, POSITIVE_ACK_NUMBER_BYTES);
	uint64_t delay = nopal_read(&reader, POSITIVE_ACK_DELAY_BYTES);
	uint64_t next = nopal_next_packet_number(session);

	report->bytes = nopal_read_left(&reader);
	report->bitmap = nopal_read_bytes(&reader, report->bytes);
	if (!nopal_read_complete(&reader) || !next ||
	    (report->bytes && (!set->selective ||
			       !report->bitmap[report->bytes - 1])) ||
	    !positive_ack_expand(next - 1, largest, &report->ack.largest) ||
	    !positive_ack_expand(self->sent.end, floor, &report->ack.floor))
		return false;
	report->highest = report->ack.floor - 1;
	if (report->bytes)
		report->highest = report->ack.floor +
				  report->bytes * POSITIVE_ACK_BYTE_BITS + 1 -
				  ((unsigned)__builtin_clz(
					   report->bitmap[report->bytes - 1]) -
				   24) -
				  1;
	report->ack.selective = set->selective && !(delay & POSITIVE_ACK_CUT);
	report->ack.delay_ns = (int64_t)(delay & POSITIVE_ACK_DELAY_MOST) *
			       POSITIVE_ACK_DELAY_UNIT_NS;
	return report->highest < self->sent.end;
}
