/* SPDX-License-Identifier: MIT */
/*
 * rts_cts -- RTS/CTS flow control: the sender asks for the right to send.
 *
 * Both sides count bytes from the beginning of the session: wanted by the sender, granted to it,
 * and arrived.  A segment is let go when with it no more was let go than was
 * granted.  So a request or a grant that comes twice, late or out of order says nothing wrong, and
 * the largest is the latest.  With H the bytes of whole messages that arrived and were not
 * consumed,
 *
 *   grant = the less of: asked for, arrived + written off + buffer - H
 *
 * and it never retreats.  A message in the making is not in H: only more segments can complete it.
 * Bytes that left and will not come are written off when the sender says so, and take no room with
 * them: where unseen segments are still needed (reliability_unmet), those given up; else those that
 * did not arrive since a sender that waits began to.
 *
 *   sender                                    receiver
 *     wants 9000, may 4000
 *     ------- request 9000 ------- x          (lost)
 *     (waits `repeat`)
 *     ------- request 9000 ---------------->  room for 6000
 *     <------ grant 6000 --------------------
 *     ------- 2000 bytes ------------------>  read: room for all
 *     <------ grant 9000 --------------------
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (a), RTS/CTS.
 * Differs:   grants are used in the order of sending, by urgent segments, too;
 *            asks for `ahead` more than it has, so that it need not stop for a
 *            round trip; grants are totals, and follow by themselves when the
 *            application makes room for what was asked for.
 * Wire:      request: bytes wanted 8, bytes that left and have landed or are lost 8; grant: bytes
 *            8.
 */
#include "../base/held.h"

enum { RTS_CTS_BLOCKED, RTS_CTS_UNMET }; /* shared variables */
enum { RTS_CTS_REQUEST, RTS_CTS_GRANT }; /* kinds */
enum { RTS_CTS_REPEAT };		 /* timers */
enum {
	RTS_CTS_TOTAL_BYTES = 8, /* on the wire */
	RTS_CTS_TELL_PART = 4,	 /* of the buffer: when to tell */
	RTS_CTS_ASK_PART = 4,	 /* of `ahead`: when to ask */
	RTS_CTS_MAX_BACKOFF = 6, /* intervals double as often */
};

struct rts_cts_parameters {
	int64_t buffer, initial, ahead, repeat;
};

/* All are bytes since the beginning, but where it says otherwise. */
struct rts_cts {
	struct held held; /* as a receiver, now */

	/* as a sender */
	struct nopal_queue waiting;
	uint64_t wanted;    /* let go, and waiting */
	uint64_t asked;	    /* largest request */
	uint64_t granted;   /* largest grant */
	uint64_t let_go;    /* within it */
	uint64_t left;	    /* of that */
	uint64_t left_then; /* when the timer was started */
	uint64_t settled;   /* left, and landed or lost */
	uint32_t backoff;   /* doublings of the interval */

	/* as a receiver */
	uint64_t asked_here; /* by the peer */
	uint64_t given;	     /* to it */
	uint64_t told;	     /* of that */
	uint64_t arrived;
	uint64_t written_off;
	bool answer; /* a request came this turn */
};

/* One or two totals, and nothing behind them. */
static bool rts_cts_read(const struct nopal_segment *segment, unsigned count, uint64_t *ret_totals)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);

	for (unsigned i = 0; i < count; i++)
		ret_totals[i] = nopal_read(&reader, RTS_CTS_TOTAL_BYTES);
	return nopal_read_complete(&reader);
}

static bool rts_cts_send(struct nopal_at at, unsigned kind, const uint64_t *totals, unsigned count)
{
	uint32_t length = count * RTS_CTS_TOTAL_BYTES;
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, kind, length, &writer);

	if (!segment)
		return false;
	for (unsigned i = 0; i < count; i++)
		nopal_write(&writer, totals[i], RTS_CTS_TOTAL_BYTES);
	nopal_control_send(at.session, segment, length);
	return true;
}

/* ------------------------------------------------------------- the sender */

static bool rts_cts_may_go(const struct rts_cts *self, const struct nopal_segment *segment)
{
	return self->let_go + segment->body.length <= self->granted;
}

static void rts_cts_let_go(struct nopal_at at, struct nopal_segment *segment)
{
	struct rts_cts *self = nopal_state(at);

	self->let_go += segment->body.length;
	nopal_release(at, segment, NOPAL_SEND);
}

static void rts_cts_set_blocked(struct nopal_at at)
{
	const struct rts_cts_parameters *set = nopal_parameters(at);
	struct rts_cts *self = nopal_state(at);
	bool blocked = self->waiting.count > 0;

	nopal_shared_set(at, RTS_CTS_BLOCKED, self->waiting.count);
	if (!blocked) {
		nopal_timer_stop(at, RTS_CTS_REPEAT);
	} else if (!nopal_timer_running(at, RTS_CTS_REPEAT)) {
		self->left_then = self->left;
		nopal_timer_start(at, RTS_CTS_REPEAT,
				  at.session->now_ns + (set->repeat << self->backoff));
	}
}

static void rts_cts_drain(struct nopal_at at)
{
	struct rts_cts *self = nopal_state(at);
	struct nopal_segment *segment;

	while (self->waiting.count &&
	       (segment = nopal_queue_first(at.session, &self->waiting)) != NULL) {
		bool held = nopal_holds(at, segment, NOPAL_SEND);

		if (held && !rts_cts_may_go(self, segment))
			break;
		nopal_queue_pop(&self->waiting);
		if (held)
			rts_cts_let_go(at, segment);
	}
	rts_cts_set_blocked(at);
}

static enum nopal_verdict rts_cts_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct rts_cts *self = nopal_state(at);

	self->wanted += segment->body.length;
	if (!self->waiting.count && rts_cts_may_go(self, segment)) {
		rts_cts_let_go(at, segment);
		return NOPAL_CONTINUE;
	}
	/* Urgent segments, too: one may have to wait at the peer for segments before it here, and
	 * would take their room. */
	if (nopal_queue_append(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to queue for the peer's grant");
	else
		rts_cts_set_blocked(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict rts_cts_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct rts_cts *self = nopal_state(at);

	if (segment->transmissions == 1)
		self->left += segment->body.length;
	return NOPAL_CONTINUE;
}

/* A segment that never left leaves its right to others.  Where unseen segments are needed, one that
 * is done arrived or was given up; else nobody knows. */
static enum nopal_verdict rts_cts_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	struct rts_cts *self = nopal_state(at);
	uint32_t length = segment->body.length;

	if (segment->transmissions) {
		if (nopal_shared_get(at, RTS_CTS_UNMET))
			self->settled += length;
		return NOPAL_CONTINUE;
	}
	self->wanted -= length;
	if (!nopal_holds(at, segment, NOPAL_SEND))
		self->let_go -= length;
	return NOPAL_CONTINUE;
}

static void rts_cts_ask(struct nopal_at at, uint64_t wanted)
{
	struct rts_cts *self = nopal_state(at);
	const uint64_t totals[] = { wanted, self->settled };

	/* Room for a segment that is given up before it left is asked for no more; the peer may
	 * grant it yet. */
	if (rts_cts_send(at, RTS_CTS_REQUEST, totals, 2) && wanted > self->asked)
		self->asked = wanted;
}

/* Nobody honest grants what was not asked for. */
static enum nopal_verdict rts_cts_on_grant(struct nopal_at at, struct nopal_segment *segment)
{
	struct rts_cts *self = nopal_state(at);
	uint64_t total;

	if (!rts_cts_read(segment, 1, &total) || total > self->asked || total <= self->granted)
		return NOPAL_CONTINUE;
	self->granted = total;
	self->backoff = 0;
	nopal_timer_stop(at, RTS_CTS_REPEAT);
	rts_cts_drain(at);
	return NOPAL_CONTINUE;
}

static void rts_cts_when_repeat(struct nopal_at at)
{
	const struct rts_cts_parameters *set = nopal_parameters(at);
	struct rts_cts *self = nopal_state(at);

	if (!nopal_shared_get(at, RTS_CTS_UNMET))
		self->settled = self->left_then;
	if (nopal_queue_first(at.session, &self->waiting)) {
		rts_cts_ask(at, self->wanted + (uint64_t)set->ahead);
		if (self->backoff < RTS_CTS_MAX_BACKOFF)
			self->backoff++;
	}
	rts_cts_set_blocked(at);
}

/* ----------------------------------------------------------- the receiver */

static enum nopal_verdict rts_cts_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	const struct rts_cts_parameters *set = nopal_parameters(at);
	struct rts_cts *self = nopal_state(at);
	uint64_t room = self->arrived + self->written_off + (uint64_t)set->buffer;
	uint64_t ahead = (uint64_t)set->ahead, wanted, news;

	(void)subject;
	if (!nopal_session_is_open(at.session))
		return NOPAL_CONTINUE;
	if (self->waiting.count) /* a segment that was given up may have left its right */
		rts_cts_drain(at);
	wanted = self->wanted + ahead;
	/* Half of what is asked for in advance is used up, and what to ask for is worth a request:
	 * all of it was answered, or it grew by a part. */
	if (self->granted < self->wanted + ahead / 2 && wanted > self->asked &&
	    (self->asked <= self->granted || wanted - self->asked >= ahead / RTS_CTS_ASK_PART))
		rts_cts_ask(at, wanted);
	room = room > (uint64_t)self->held.bytes ? room - (uint64_t)self->held.bytes : 0;
	if (room > self->asked_here)
		room = self->asked_here;
	if (room > self->given)
		self->given = room;
	news = self->given - self->told;
	if (!self->answer && (!news || (self->given != self->asked_here &&
					news < (uint64_t)set->buffer / RTS_CTS_TELL_PART)))
		return NOPAL_CONTINUE;
	if (rts_cts_send(at, RTS_CTS_GRANT, &self->given, 1)) {
		self->answer = false;
		self->told = self->given;
	}
	return NOPAL_CONTINUE;
}

/* Answered once a turn, however many come.  More than was granted cannot have left. */
static enum nopal_verdict rts_cts_on_request(struct nopal_at at, struct nopal_segment *segment)
{
	struct rts_cts *self = nopal_state(at);
	uint64_t totals[2] = { 0 };

	if (!rts_cts_read(segment, 2, totals) || totals[1] > self->given)
		return NOPAL_CONTINUE;
	self->answer = true;
	if (totals[0] > self->asked_here)
		self->asked_here = totals[0];
	if (totals[1] > self->arrived + self->written_off)
		self->written_off = totals[1] - self->arrived;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict rts_cts_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	struct rts_cts *self = nopal_state(at);

	self->arrived += segment->body.length;
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- life */

static enum nopal_verdict rts_cts_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	const struct rts_cts_parameters *set = nopal_parameters(at);
	struct rts_cts *self = nopal_state(at);
	uint64_t initial = (uint64_t)set->initial;

	(void)subject;
	self->asked = self->granted = initial;
	self->asked_here = self->given = self->told = initial;
	rts_cts_drain(at);
	return NOPAL_CONTINUE;
}

/* Nobody ever grants more at once. */
static uint64_t rts_cts_message_limit(const void *parameters, uint32_t body_bytes)
{
	const struct rts_cts_parameters *set = parameters;

	(void)body_bytes;
	return (uint64_t)set->buffer;
}

static const struct nopal_binding rts_cts_bindings[] = {
	NOPAL_ON(SESSION_OPENED, rts_cts_on_opened),
	NOPAL_ON(SEGMENT_TO_NET, rts_cts_on_to_net, .before = "window_mechanism"),
	NOPAL_ON(SEND_SEGMENT, rts_cts_on_send),
	NOPAL_ON(SEGMENT_DONE, rts_cts_on_done),
	NOPAL_ON_OWN(RTS_CTS_REQUEST, rts_cts_on_request),
	NOPAL_ON_OWN(RTS_CTS_GRANT, rts_cts_on_grant),
	NOPAL_ON(SEGMENT_VERIFIED, rts_cts_on_verified, .before = "message_segments"),
	HELD_BINDINGS,
	NOPAL_ON(TURN_END, rts_cts_on_turn_end, .before = "window_mechanism"),
	{ 0 },
};

static void rts_cts_idle(struct nopal_at at)
{
	struct rts_cts *self = nopal_state(at);

	nopal_queue_idle(at.session, &self->waiting);
}

const struct nopal_microprotocol nopal_rts_cts = {
	NOPAL_DESCRIBE(rts_cts, flow,
		       "RTS/CTS flow control: the sender asks for the right to send"),
	.provides = NOPAL_ROLES({ "flow_control", true }),
	.promises = NOPAL_PROMISES(NOPAL_FLOW_CONTROLLED),
	.parameters_size = sizeof(struct rts_cts_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(
			rts_cts, buffer, "buffer", SIZE, "4MiB", "1seg", "1GiB",
			"bytes of messages that the receiver holds; of an uncut message at most"),
		NOPAL_NUMBER(rts_cts, initial, "initial", SIZE, "16KiB", "0B", "1GiB",
			     "granted before anybody asks", .wire = true),
		NOPAL_NUMBER(rts_cts, ahead, "ahead", SIZE, "64KiB", "0B", "1GiB",
			     "asked for beyond what waits"),
		NOPAL_NUMBER(rts_cts, repeat, "repeat", TIME, "100ms", "1ms", "10s",
			     "time until a request is repeated, at first",
			     .waits = NOPAL_WAITS_DOUBLED)),
	.attributes =
		NOPAL_ATTRIBUTES([HELD_CHARGE] = { "flow_charge", NOPAL_WRITE,
						   "bytes of the buffer that the message takes" }),
	.shared = NOPAL_SHARED([RTS_CTS_BLOCKED] = { "flow_blocked", NOPAL_WRITE, 0,
						     "segments that wait for the peer's grant" },
			       [RTS_CTS_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
						   "1: an unseen segment is still needed" }),
	.kinds = NOPAL_KINDS([RTS_CTS_REQUEST] = { "request", NOPAL_KIND_CONTROL,
						   "asks for the right to send" },
			     [RTS_CTS_GRANT] = { "grant", NOPAL_KIND_CONTROL,
						 "bytes that may be sent" }),
	.holds = NOPAL_HOLDS({ "the peer's grant", NOPAL_SEND, NOPAL_DATA, .sticky = true }),
	.timers = NOPAL_TIMERS([RTS_CTS_REPEAT] = { "repeat", rts_cts_when_repeat }),
	.bindings = rts_cts_bindings,
	.state_size = sizeof(struct rts_cts),
	.message_limit = rts_cts_message_limit,
	.idle = rts_cts_idle,
};
