/* SPDX-License-Identifier: MIT */
/*
 * partial_reliability -- some messages need not arrive, or not after their time.
 *
 * A message may have a deadline, after which it is of no use, and a number of transmissions that
 * its segments are worth.  A segment that has reached either does not leave again, and one that
 * never left is withdrawn.  The peer is told a point below which nothing new will come, and waits
 * for nothing there.
 *
 *   sender                                  receiver, in order
 *   1, reliable ---------------------- x
 *   2, of use for 50 ms -------------- x
 *   3, reliable -------------------------->  3 waits
 *   1 again ------------------------------>  1 is delivered, 3 waits for 2
 *   50 ms have passed: 2 is given up
 *   forward: segment 3, order 3 ---------->  3 is delivered
 *        <-------------------- ack, cumulative ack 4
 *
 * A segment in flight when its time ends may still arrive, and its loss is news for congestion
 * control: the segment is given up when it is known to be lost, and its message has the outcome
 * that the peer told.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.B, which makes room for
 *            this and does not have it; RFC 3758 (the forward point); Wang,
 *            UDTCP, 2003, section 4 (withdrawal of messages that have not left).
 * Differs:   says it of a message, not of a session or a stream; the point is
 *            two numbers, for segments and for the order.
 * Wire:      forward: no new segment below this number will come, 4; nor a message whose place in
 *            the order is below this, 4.
 */
#include "../flow/flow_number.h"
#include "../status/outstanding.h"
#include "expiry.h"

/* ------------------------------------------------------------------- the state */

struct partial_reliability_parameters {
	int64_t deadline_ns, attempts;
};

/* attributes */
enum {
	PARTIAL_RELIABILITY_DEADLINE,
	PARTIAL_RELIABILITY_ATTEMPTS,
	PARTIAL_RELIABILITY_EXPIRES,
	PARTIAL_RELIABILITY_FIRST,
	PARTIAL_RELIABILITY_NEXT,
	PARTIAL_RELIABILITY_NUMBER,
	PARTIAL_RELIABILITY_MESSAGE,
};
/* shared variables */
enum {
	PARTIAL_RELIABILITY_FORWARD_POINT,
	PARTIAL_RELIABILITY_LOCAL,
	PARTIAL_RELIABILITY_PEER,
	PARTIAL_RELIABILITY_TIMEOUT,
	PARTIAL_RELIABILITY_RTT,
};
enum { PARTIAL_RELIABILITY_FORWARD };				 /* kinds */
enum { PARTIAL_RELIABILITY_EXPIRED, PARTIAL_RELIABILITY_AGAIN }; /* timers */

enum {
	PARTIAL_RELIABILITY_NUMBER_BYTES = 4,
	PARTIAL_RELIABILITY_BYTES = 2 * PARTIAL_RELIABILITY_NUMBER_BYTES,
	PARTIAL_RELIABILITY_BACKOFF = 6, /* doublings of the time to tell again */
	PARTIAL_RELIABILITY_MARGIN = 4,	 /* a quarter of the round trip more */
	/* Beyond what any sender has numbered: such a point is not believed. */
	PARTIAL_RELIABILITY_MAX = 1 << 24,
};

struct partial_reliability {
	/* of what we send */
	struct outstanding open; /* what the peer is still to have */
	struct expiry expiry;	 /* messages, by their time */
	uint64_t order_end;	 /* place in the order of the next message */
	uint64_t cumulative;	 /* of the peer's acknowledgements */
	uint64_t told;		 /* the last point */
	uint32_t repeats;	 /* of telling it */

	/* of what the peer sends */
	uint64_t point, order;	  /* as it last told */
	uint64_t highest;	  /* one past the highest segment number */
	uint64_t highest_message; /* likewise, where messages have numbers */
};

/* ----------------------------------------------------------------- giving up */

/* Gives up all segments of a message that are not settled; one on its way when its status is known.
 * Each of them may end the message, and the application may send another one then. */
static void partial_reliability_give_up(struct nopal_at at, const struct nopal_message *message)
{
	struct partial_reliability *self = nopal_state(at);
	uint64_t number = nopal_get(at, message, PARTIAL_RELIABILITY_FIRST);
	uint64_t next = nopal_get(at, message, PARTIAL_RELIABILITY_NEXT);

	for (; number < next; number++) {
		const struct nopal_transmission *away = NULL;
		struct nopal_segment *segment;

		segment = outstanding_find(at.session, &self->open, number);
		if (!segment)
			continue;
		segment->last = true;
		if (segment->transmissions && !segment->wanted)
			away = nopal_transmission_find(at.session, segment->packet_number);
		if (away && away->open)
			continue;
		outstanding_take(&self->open, number);
		nopal_segment_abandon(at.session, segment);
	}
}

static void partial_reliability_watch(struct nopal_at at)
{
	struct partial_reliability *self = nopal_state(at);
	int64_t next_ns = expiry_next_ns(&self->expiry);

	if (next_ns != NOPAL_NEVER)
		nopal_timer_start(at, PARTIAL_RELIABILITY_EXPIRED, next_ns);
}

static void partial_reliability_when_expired(struct nopal_at at)
{
	struct partial_reliability *self = nopal_state(at);

	while (expiry_next_ns(&self->expiry) <= at.session->now_ns) {
		const struct nopal_message *message =
			nopal_message_find(at.session, expiry_take(&self->expiry));

		if (message)
			partial_reliability_give_up(at, message);
	}
	partial_reliability_watch(at);
}

/* -------------------------------------------------------------------- sending */

static enum nopal_verdict partial_reliability_on_opened(struct nopal_at at,
							struct nopal_session *subject)
{
	struct partial_reliability *self = nopal_state(at);
	uint64_t local = (uint64_t)nopal_shared_get(at, PARTIAL_RELIABILITY_LOCAL);
	uint64_t peer = (uint64_t)nopal_shared_get(at, PARTIAL_RELIABILITY_PEER);

	(void)subject;
	outstanding_begin(&self->open, local);
	self->order_end = self->cumulative = self->told = local;
	self->point = self->order = peer;
	self->highest = self->highest_message = peer;
	return NOPAL_CONTINUE;
}

/* The application's own deadline, or the session's; a message that says NOPAL_NEVER has none in any
 * case. */
static enum nopal_verdict partial_reliability_on_from_user(struct nopal_at at,
							   struct nopal_message *message)
{
	const struct partial_reliability_parameters *set = nopal_parameters(at);
	struct partial_reliability *self = nopal_state(at);
	uint64_t lasts_ns = nopal_get(at, message, PARTIAL_RELIABILITY_DEADLINE);
	int64_t expires_ns = NOPAL_NEVER;

	if (!lasts_ns)
		lasts_ns = (uint64_t)set->deadline_ns;
	if (lasts_ns && lasts_ns < (uint64_t)(NOPAL_NEVER - message->created_ns))
		expires_ns = message->created_ns + (int64_t)lasts_ns;
	nopal_set(at, message, PARTIAL_RELIABILITY_EXPIRES, (uint64_t)expires_ns);
	if (expires_ns == NOPAL_NEVER)
		return NOPAL_CONTINUE;
	if (expiry_add(at.session, &self->expiry, expires_ns, message->handle) < 0) {
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to remember a deadline");
		return NOPAL_STOP;
	}
	partial_reliability_watch(at);
	return NOPAL_CONTINUE;
}

/* A segment starts with the attributes that its message has from the segments before it.  The
 * message may have waited for the session to open, and be of no use now. */
static enum nopal_verdict partial_reliability_on_cut(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct partial_reliability *self = nopal_state(at);
	struct nopal_message *message = segment->message;
	uint64_t number = nopal_get(at, segment, PARTIAL_RELIABILITY_NUMBER);

	if (!nopal_get(at, segment, PARTIAL_RELIABILITY_NEXT)) {
		nopal_set(at, segment, PARTIAL_RELIABILITY_FIRST, number);
		nopal_set(at, message, PARTIAL_RELIABILITY_FIRST, number);
	}
	nopal_set(at, message, PARTIAL_RELIABILITY_NEXT, number + 1);
	self->order_end = 1 + (nopal_has(at, PARTIAL_RELIABILITY_MESSAGE)
				       ? nopal_get(at, segment, PARTIAL_RELIABILITY_MESSAGE)
				       : number);
	if (!outstanding_track(at.session, &self->open, number, segment))
		return NOPAL_STOP;
	if ((int64_t)nopal_get(at, segment, PARTIAL_RELIABILITY_EXPIRES) > at.session->now_ns)
		return NOPAL_CONTINUE;
	outstanding_take(&self->open, number);
	nopal_segment_abandon(at.session, segment);
	return NOPAL_STOP;
}

static enum nopal_verdict partial_reliability_on_send(struct nopal_at at,
						      struct nopal_segment *segment)
{
	const struct partial_reliability_parameters *set = nopal_parameters(at);
	uint64_t max = nopal_get(at, segment, PARTIAL_RELIABILITY_ATTEMPTS);

	if (!max)
		max = (uint64_t)set->attempts;
	if (max && segment->transmissions >= max)
		segment->last = true;
	return NOPAL_CONTINUE;
}

/* Lost or timed out.  A message that lacks one segment is worth no other. */
static enum nopal_verdict partial_reliability_on_missing(struct nopal_at at,
							 struct nopal_segment *segment)
{
	if (segment->last && !segment->done)
		partial_reliability_give_up(at, segment->message);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict partial_reliability_on_done(struct nopal_at at,
						      struct nopal_segment *segment)
{
	struct partial_reliability *self = nopal_state(at);

	outstanding_close(&self->open, nopal_get(at, segment, PARTIAL_RELIABILITY_NUMBER));
	return NOPAL_CONTINUE;
}

/* --------------------------------------------------------- telling the point */

/* The least time to tell again, as the granularity of timers in RFC 9002, section
 * 6.1.2: a round trip may be shorter than the peer's own turn. */
static const int64_t PARTIAL_RELIABILITY_MIN_NS = NOPAL_MILLISECOND;

/* Tells the point, and again unless the peer's cumulative ack moves in time.  With it goes the
 * place in the order of the first message that is not settled: what is given up of a message is
 * given up of all of it. */
static void partial_reliability_tell(struct nopal_at at)
{
	struct partial_reliability *self = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, PARTIAL_RELIABILITY_RTT);
	int64_t wait_ns = nopal_shared_get(at, PARTIAL_RELIABILITY_TIMEOUT);
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, PARTIAL_RELIABILITY_FORWARD,
							    PARTIAL_RELIABILITY_BYTES, &writer);
	const struct nopal_segment *first =
		outstanding_find(at.session, &self->open, self->open.base);
	bool numbered = nopal_has(at, PARTIAL_RELIABILITY_MESSAGE);
	uint64_t order = self->order_end;

	if (first)
		order = nopal_get(at, first,
				  numbered ? PARTIAL_RELIABILITY_MESSAGE
					   : PARTIAL_RELIABILITY_FIRST);
	self->told = self->open.base;
	nopal_shared_set(at, PARTIAL_RELIABILITY_FORWARD_POINT, (int64_t)self->told);
	if (rtt_ns)
		wait_ns = rtt_ns + rtt_ns / PARTIAL_RELIABILITY_MARGIN;
	if (wait_ns < PARTIAL_RELIABILITY_MIN_NS)
		wait_ns = PARTIAL_RELIABILITY_MIN_NS;
	nopal_timer_start(at, PARTIAL_RELIABILITY_AGAIN,
			  at.session->now_ns + (wait_ns << self->repeats));
	if (!segment)
		return;
	nopal_write(&writer, (uint32_t)self->told, PARTIAL_RELIABILITY_NUMBER_BYTES);
	nopal_write(&writer, (uint32_t)order, PARTIAL_RELIABILITY_NUMBER_BYTES);
	nopal_control_send(at.session, segment, PARTIAL_RELIABILITY_BYTES);
}

/* Where all is settled beyond the peer's cumulative ack, some segments were given up: the peer
 * moves its cumulative ack over all that arrived. */
static enum nopal_verdict partial_reliability_on_turn_end(struct nopal_at at,
							  struct nopal_session *subject)
{
	struct partial_reliability *self = nopal_state(at);

	(void)subject;
	if (self->open.base <= self->cumulative || self->open.base == self->told)
		return NOPAL_CONTINUE;
	self->repeats = 0;
	partial_reliability_tell(at);
	return NOPAL_CONTINUE;
}

static void partial_reliability_when_again(struct nopal_at at)
{
	struct partial_reliability *self = nopal_state(at);

	if (self->told <= self->cumulative)
		return;
	if (self->repeats < PARTIAL_RELIABILITY_BACKOFF)
		self->repeats++;
	partial_reliability_tell(at);
}

static enum nopal_verdict partial_reliability_on_processed(struct nopal_at at,
							   struct nopal_ack *ack)
{
	struct partial_reliability *self = nopal_state(at);

	if (ack->cumulative > self->cumulative)
		self->cumulative = ack->cumulative;
	return NOPAL_CONTINUE;
}

/* A point moves on, and not further than the peer can have numbered.  An old one that comes again
 * was not acknowledged. */
static enum nopal_verdict partial_reliability_on_forward(struct nopal_at at,
							 struct nopal_segment *segment)
{
	struct partial_reliability *self = nopal_state(at);
	bool numbered = nopal_has(at, PARTIAL_RELIABILITY_MESSAGE);
	uint64_t near = numbered ? self->highest_message : self->highest;
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t point = flow_number_expand(nopal_read(&reader, PARTIAL_RELIABILITY_NUMBER_BYTES),
					    self->highest);
	uint64_t order =
		flow_number_expand(nopal_read(&reader, PARTIAL_RELIABILITY_NUMBER_BYTES), near);
	struct nopal_forward forward;

	if (!nopal_read_complete(&reader) || point > self->highest + PARTIAL_RELIABILITY_MAX ||
	    order > near + PARTIAL_RELIABILITY_MAX || (!numbered && order > point))
		return NOPAL_STOP;
	if (point > self->point)
		self->point = point;
	if (point > self->highest)
		self->highest = point;
	if (order > self->order)
		self->order = order;
	forward = (struct nopal_forward){ .segment = self->point, .order = self->order };
	nopal_raise_FORWARD_RECEIVED(at.session, &forward);
	return NOPAL_STOP;
}

static enum nopal_verdict partial_reliability_on_verified(struct nopal_at at,
							  struct nopal_segment *segment)
{
	struct partial_reliability *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, PARTIAL_RELIABILITY_NUMBER);
	uint64_t message = nopal_get(at, segment, PARTIAL_RELIABILITY_MESSAGE);

	if (number >= self->highest)
		self->highest = number + 1;
	if (message >= self->highest_message)
		self->highest_message = message + 1;
	return NOPAL_CONTINUE;
}

static void partial_reliability_idle(struct nopal_at at)
{
	struct partial_reliability *self = nopal_state(at);

	outstanding_idle(at.session, &self->open);
	expiry_rest(at.session, &self->expiry);
}

const struct nopal_microprotocol nopal_partial_reliability = {
	NOPAL_DESCRIBE(partial_reliability, reliability,
		       "some messages need not arrive, or not after their time"),
	.provides = NOPAL_ROLES({ "partial_reliability", true }),
	.needs = NOPAL_RELATIONS(
		{ "reliability", "without it nothing arrives for sure anyway" },
		{ "acknowledgement", "its cumulative ack says whether the point was heard" },
		{ "segment_numbers", "numbers say which segments will not come" }),
	.excludes = NOPAL_RELATIONS(
		{ "coalesce", "messages in one segment may have different deadlines" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_GIVING_UP, NOPAL_LOWERS, NOPAL_IN_TIME,
				     "a message is given up after its deadline or its attempts",
				     .of = "deadline|attempts" },
				   { NOPAL_DELIVERY, NOPAL_GIVING_UP, NOPAL_LOWERS, NOPAL_IN_TIME,
				     "every message has a deadline", .when = "deadline",
				     .bound = "deadline" },
				   { NOPAL_DELIVERY, NOPAL_GIVING_UP, NOPAL_LOWERS, NOPAL_IN_TIME,
				     "every message has a number of attempts", .when = "attempts",
				     .bound = "attempts" }),
	.parameters_size = sizeof(struct partial_reliability_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(partial_reliability, deadline_ns, "deadline", TIME, "0ms", "0ms", "1h",
			     "of messages that name none themselves; 0: they have none"),
		NOPAL_NUMBER(partial_reliability, attempts, "attempts", COUNT, "0", "0", "1000",
			     "transmissions of a segment of messages that say none; 0: no limit")),
	.attributes = NOPAL_ATTRIBUTES(
		[PARTIAL_RELIABILITY_DEADLINE] = { "deadline", NOPAL_PROPERTY,
						   "ns from sending until it is useless; NOPAL_NEVER: none",
						   .unit = NOPAL_TIME },
		[PARTIAL_RELIABILITY_ATTEMPTS] = { "attempts", NOPAL_PROPERTY,
						   "how often each of its segments may leave" },
		[PARTIAL_RELIABILITY_EXPIRES] = { "expires_ns", NOPAL_WRITE,
						  "when it is given up" },
		[PARTIAL_RELIABILITY_FIRST] = { "first_segment", NOPAL_WRITE,
						"number of its message's first segment" },
		[PARTIAL_RELIABILITY_NEXT] = { "next_segment", NOPAL_WRITE,
					       "one past that of the last one cut so far; 0: none is" },
		[PARTIAL_RELIABILITY_NUMBER] = { "segment_number", NOPAL_READ },
		[PARTIAL_RELIABILITY_MESSAGE] = { "message_number", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED(
		[PARTIAL_RELIABILITY_FORWARD_POINT] = { "forward_point", NOPAL_WRITE, 0,
							"the peer's cumulative ack goes there without arrivals" },
		[PARTIAL_RELIABILITY_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL, 1,
						"our first number" },
		[PARTIAL_RELIABILITY_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
					       "the peer's first number" },
		[PARTIAL_RELIABILITY_TIMEOUT] = { "timeout_ns", NOPAL_READ_OPTIONAL, NOPAL_SECOND,
						  "when to tell the point again" },
		[PARTIAL_RELIABILITY_RTT] = { "smoothed_rtt_ns", NOPAL_READ_OPTIONAL, 0,
					      "when to tell the point again; 0: not known" }),
	.kinds = NOPAL_KINDS([PARTIAL_RELIABILITY_FORWARD] = { "forward", NOPAL_KIND_CONTROL,
							       "segments that will not come" }),
	.timers = NOPAL_TIMERS([PARTIAL_RELIABILITY_EXPIRED] = { "expired",
								 partial_reliability_when_expired },
			       [PARTIAL_RELIABILITY_AGAIN] = { "again",
							       partial_reliability_when_again }),
	.bindings = NOPAL_BINDINGS(
		/* Losses are judged here before anybody asks for a resend. */
		NOPAL_ON(SESSION_OPENED, partial_reliability_on_opened),
		NOPAL_ON(MSG_FROM_USER, partial_reliability_on_from_user,
			 .before = "message_segments"),
		NOPAL_ON(SEGMENT_FROM_USER, partial_reliability_on_cut, .before = "driver",
			 .after = "segment_numbers"),
		NOPAL_ON(SEND_SEGMENT, partial_reliability_on_send),
		NOPAL_ON(SEGMENT_LOST, partial_reliability_on_missing, .before = "reliability"),
		NOPAL_ON(SEGMENT_TIMEOUT, partial_reliability_on_missing, .before = "reliability"),
		NOPAL_ON(SEGMENT_DONE, partial_reliability_on_done),
		NOPAL_ON(ACK_PROCESSED, partial_reliability_on_processed),
		NOPAL_ON(TURN_END, partial_reliability_on_turn_end),
		NOPAL_ON_OWN(PARTIAL_RELIABILITY_FORWARD, partial_reliability_on_forward),
		NOPAL_ON(SEGMENT_VERIFIED, partial_reliability_on_verified)),
	.raises = NOPAL_RAISES("SEGMENT_ABANDONED", "FORWARD_RECEIVED", "SESSION_BROKEN"),
	.state_size = sizeof(struct partial_reliability),
	.idle = partial_reliability_idle,
};
