/* SPDX-License-Identifier: MIT */
/*
 * three_way -- open and close a session as the one-to-many protocol does, in its header.
 *
 *   opener                                        listener
 *   ASKING   SYN  A, the longest body ----------> TELLING: half open
 *            <--------- SYN-ACK  B, A+1, the MSS   |  SYN-ACK until confirmed
 *   OPEN     ACK  B+1 --------------------------> OPEN
 *
 *   either side, when its application has closed and its messages have outcomes:
 *
 *            FIN  F, what it waits for, until acknowledged ----> PEER_CLOSED, once
 *            <--------------------------------------- ACK  F+1
 *            (and, while the peer stays open, now and then, to see it live)
 *
 *   silence: is the peer still there?
 *
 *            SYN  A  (the opener) ---------------------------->  ACK
 *            SYN-ACK  B, A+1  (the listener) ----------------->  ACK
 *
 * A and B are random, the first data have the numbers A+1 and B+1, and a FIN has the number behind
 * the last of them.  The MSS is the smaller of what the two can pack into a datagram; both keep to
 * it.  What comes from the opener and acknowledges B confirms, be it data where the ACK was lost.
 *
 * There is no cookie, so some attacks succeed.  A host that can send from an address that is not
 * its own can have `backlog` sessions half open at a listener for as long as that repeats the
 * SYN-ACK, and no other opener gets in meanwhile.  A host that guesses or reads B opens a session
 * in another's name; one that guesses two numbers can close it.
 *
 * Paper:     the one-to-many protocol, sections 3.5, 3.6, and figures 1 and 2.
 * Differs:   the paper does not say where the MSS is told: it is 4 bytes of payload
 *            of SYN and SYN-ACK.  SYN and FIN take one number each, as packets do.
 *            The side that acknowledged the last FIN lingers.  A silent peer is
 *            asked whether it is there, and at the listener, too, where a SYN with
 *            another number comes from its address: if it is not, that is free for a
 *            new one.
 * Wire:      syn (opening), syn_ack, ack, fin (control): all in the header of
 *            one_to_many; syn, syn_ack: bytes of a body at most, 4.
 */
#include "retries.h"

struct three_way_parameters {
	struct retries retries;
	int64_t silence_ns, backlog;
};

/* attributes */
enum { THREE_WAY_NUMBER, THREE_WAY_CUMULATIVE, THREE_WAY_OF_DATA };
/* kinds */
enum { THREE_WAY_SYN, THREE_WAY_SYN_ACK, THREE_WAY_ACK, THREE_WAY_FIN };
/* shared variables */
enum { THREE_WAY_LOCAL, THREE_WAY_PEER };
/* timers */
enum {
	THREE_WAY_OPENING,
	THREE_WAY_CLOSING,
	THREE_WAY_LINGER,
	THREE_WAY_SILENCE,
};

enum three_way_state {
	THREE_WAY_LISTENING, /* admitted; its SYN comes next */
	THREE_WAY_ASKING,
	THREE_WAY_TELLING,
	THREE_WAY_OPEN,
};

enum {
	THREE_WAY_INITIAL_SHIFT = 64 - 31, /* leaves 31 random bits */
	THREE_WAY_MSS_BYTES = 4,
};

struct three_way {
	enum three_way_state state;
	uint64_t next;	     /* ours: the number of the next packet */
	uint64_t cumulative; /* the peer's, which we wait for */
	uint32_t mss;	     /* that we told, or were told */
	bool doubted;	     /* is the peer of this open session still there? */
	struct closing closing;
	bool told; /* every FIN of ours acknowledged the peer's */
	uint32_t opening_sends;
	int64_t heard_ns; /* when something of the peer's came last */
};

/* On the wire numbers are 32 bits long. */
static bool three_way_is(uint64_t wire, uint64_t number)
{
	return wire == (uint32_t)number;
}

/* `mss`: of SYN and SYN-ACK; else 0, and no payload. */
static void three_way_send(struct nopal_at at, unsigned kind, uint64_t number, uint64_t cumulative,
			   uint32_t mss)
{
	uint32_t length = mss ? THREE_WAY_MSS_BYTES : 0;
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, kind, length, &writer);

	if (!segment)
		return;
	if (mss)
		nopal_write(&writer, mss, THREE_WAY_MSS_BYTES);
	nopal_set(at, segment, THREE_WAY_NUMBER, number);
	nopal_set(at, segment, THREE_WAY_CUMULATIVE, cumulative);
	nopal_control_send(at.session, segment, length);
}

static void three_way_send_ack(struct nopal_at at)
{
	const struct three_way *self = nopal_state(at);

	three_way_send(at, THREE_WAY_ACK, self->next + self->closing.ours, self->cumulative, 0);
}

/* ------------------------------------------------------------------- closing */

static void three_way_repeat_closing(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	struct three_way *self = nopal_state(at);
	int64_t wait_ns = closing_wait(&self->closing, &set->retries);

	three_way_send(at, THREE_WAY_FIN, self->next, self->cumulative, 0);
	nopal_timer_start(at, THREE_WAY_CLOSING, at.session->now_ns + wait_ns);
}

static void three_way_when_closing(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	const struct three_way *self = nopal_state(at);

	if (closing_goes_on(at.session, &self->closing, &set->retries, "no answer to the FIN"))
		three_way_repeat_closing(at);
}

static enum nopal_verdict three_way_on_close_session(struct nopal_at at,
						     struct nopal_session *subject)
{
	struct three_way *self = nopal_state(at);

	(void)subject;
	self->closing.ours = true;
	self->told = self->closing.theirs;
	nopal_timer_stop(at, THREE_WAY_SILENCE);
	three_way_repeat_closing(at);
	return NOPAL_CONTINUE;
}

/* Both have closed, and ours is acknowledged.  Whether the peer knows that we have its FIN shows
 * where every one of ours said so. */
static void three_way_both_closed(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	const struct three_way *self = nopal_state(at);

	nopal_timer_stop(at, THREE_WAY_CLOSING);
	if (self->told)
		nopal_session_closed(at.session);
	else
		nopal_timer_start(at, THREE_WAY_LINGER,
				  at.session->now_ns + set->retries.linger_ns);
}

/* A FIN behind the last of the peer's data, all of which have arrived. */
static enum nopal_verdict three_way_on_fin(struct nopal_at at, struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);
	bool first = !self->closing.theirs;

	if (!three_way_is(nopal_get(at, segment, THREE_WAY_NUMBER),
			  self->cumulative - self->closing.theirs))
		return NOPAL_STOP;
	self->closing.theirs = true;
	self->cumulative += first;
	three_way_send_ack(at);
	if (first)
		nopal_session_peer_closed(at.session);
	if (self->closing.acked)
		three_way_both_closed(at);
	return NOPAL_STOP;
}

/* ------------------------------------------------------------------- opening */

static enum nopal_admission_verdict three_way_admit(struct nopal_at at,
						    struct nopal_request *request,
						    struct nopal_writer *reply)
{
	const struct three_way_parameters *set = nopal_parameters(at);

	(void)reply;
	return request->half_open < set->backlog ? NOPAL_ADMIT_ACCEPT : NOPAL_ADMIT_DROP;
}

static uint64_t three_way_initial(struct nopal_at at, unsigned whose)
{
	return (uint64_t)nopal_shared_get(at, whose);
}

static void three_way_send_syn_ack(struct nopal_at at)
{
	const struct three_way *self = nopal_state(at);

	three_way_send(at, THREE_WAY_SYN_ACK, three_way_initial(at, THREE_WAY_LOCAL) - 1,
		       three_way_initial(at, THREE_WAY_PEER), self->mss);
}

/* Repeats the segment that the other side has not answered yet. */
static void three_way_repeat_opening(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	struct three_way *self = nopal_state(at);
	int64_t wait_ns;

	self->opening_sends++;
	if (nopal_session_is_opener(at.session))
		three_way_send(at, THREE_WAY_SYN, three_way_initial(at, THREE_WAY_LOCAL) - 1, 0,
			       nopal_body_max(at.session));
	else if (self->state != THREE_WAY_LISTENING)
		three_way_send_syn_ack(at);
	wait_ns = self->doubted ? set->retries.first_ns
				: retries_wait(&set->retries, self->opening_sends);
	nopal_timer_start(at, THREE_WAY_OPENING, at.session->now_ns + wait_ns);
}

static void three_way_when_opening(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	struct three_way *self = nopal_state(at);

	if (self->opening_sends < set->retries.attempts)
		three_way_repeat_opening(at);
	else if (self->state == THREE_WAY_ASKING)
		nopal_session_break(at.session, NOPAL_UNREACHABLE,
				    "no answer to the request to open");
	else if (self->doubted)
		nopal_session_break(at.session, NOPAL_PEER_LOST, "the peer fell silent");
	else
		nopal_session_break(at.session, NOPAL_UNREACHABLE,
				    "the opener fell silent while opening");
}

static enum nopal_verdict three_way_on_open_session(struct nopal_at at,
						    struct nopal_session *subject)
{
	struct three_way *self = nopal_state(at);

	(void)subject;
	self->next = 1 + (nopal_random(at.session) >> THREE_WAY_INITIAL_SHIFT);
	nopal_shared_set(at, THREE_WAY_LOCAL, (int64_t)self->next);
	if (nopal_session_is_opener(at.session))
		self->state = THREE_WAY_ASKING;
	three_way_repeat_opening(at);
	return NOPAL_CONTINUE;
}

/* The peer's first number, and the shorter of the longest bodies; false: there is none that we
 * could keep to, and the session ends. */
static bool three_way_agree(struct nopal_at at, const struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t theirs = nopal_read(&reader, THREE_WAY_MSS_BYTES);
	uint32_t max = nopal_body_max(at.session);
	uint32_t header = nopal_path_max(at.session) - max;

	self->mss = theirs < max ? (uint32_t)theirs : max;
	nopal_path_limit_set(at.session, header + self->mss);
	if (!nopal_read_complete(&reader) || nopal_body_limit(at.session) > theirs) {
		nopal_session_break(at.session, NOPAL_REFUSED,
				    "the peer takes only shorter packets than "
				    "this composition can be held to");
		return false;
	}
	self->cumulative = nopal_get(at, segment, THREE_WAY_NUMBER) + 1;
	nopal_shared_set(at, THREE_WAY_PEER, (int64_t)self->cumulative);
	return true;
}

static void three_way_listen(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	const struct three_way *self = nopal_state(at);

	if (!self->closing.ours)
		nopal_timer_start(at, THREE_WAY_SILENCE, self->heard_ns + set->silence_ns);
}

static void three_way_settled(struct nopal_at at)
{
	struct three_way *self = nopal_state(at);

	self->state = THREE_WAY_OPEN;
	self->doubted = false;
	self->heard_ns = at.session->now_ns;
	nopal_timer_stop(at, THREE_WAY_OPENING);
	three_way_listen(at);
}

/* Is the peer of this open session still there? */
static void three_way_doubt(struct nopal_at at)
{
	struct three_way *self = nopal_state(at);

	if (self->doubted)
		return;
	self->doubted = true;
	self->opening_sends = 0;
	three_way_repeat_opening(at);
}

/* The timer is not moved with everything that comes; it looks when it fires. */
static void three_way_when_silent(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	const struct three_way *self = nopal_state(at);

	if (at.session->now_ns - self->heard_ns >= set->silence_ns)
		three_way_doubt(at);
	else
		three_way_listen(at);
}

/* At the listener's session: its first segment, and each repetition of it. */
static enum nopal_verdict three_way_on_syn(struct nopal_at at, struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);
	bool same = three_way_is(nopal_get(at, segment, THREE_WAY_NUMBER),
				 three_way_initial(at, THREE_WAY_PEER) - 1);

	if (nopal_session_is_opener(at.session))
		return NOPAL_STOP;
	if (self->state == THREE_WAY_LISTENING) {
		if (three_way_agree(at, segment)) {
			self->state = THREE_WAY_TELLING;
			self->opening_sends = 0;
			three_way_repeat_opening(at);
		}
	} else if (self->state == THREE_WAY_TELLING && same) {
		three_way_send_syn_ack(at);
	} else if (self->state == THREE_WAY_OPEN && same) {
		self->heard_ns = at.session->now_ns;
		three_way_send_ack(at);
	} else if (self->state == THREE_WAY_OPEN) {
		three_way_doubt(at);
	}
	return NOPAL_STOP;
}

/* Where our ACK was lost, or we are doubted, it comes again. */
static enum nopal_verdict three_way_on_syn_ack(struct nopal_at at, struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);
	bool opens = self->state == THREE_WAY_ASKING;

	if (!nopal_session_is_opener(at.session) ||
	    !three_way_is(nopal_get(at, segment, THREE_WAY_CUMULATIVE),
			  three_way_initial(at, THREE_WAY_LOCAL)))
		return NOPAL_STOP;
	if (opens && !three_way_agree(at, segment))
		return NOPAL_STOP;
	if (!three_way_is(nopal_get(at, segment, THREE_WAY_NUMBER),
			  three_way_initial(at, THREE_WAY_PEER) - 1))
		return NOPAL_STOP;
	three_way_settled(at);
	three_way_send_ack(at);
	if (opens)
		nopal_session_opened(at.session);
	return NOPAL_STOP;
}

/* --------------------------------------------------------------- every segment */

/* Half open, a segment that acknowledges our number comes from the address where it was sent, and
 * is the first of the session; all others go no further. */
static enum nopal_verdict three_way_on_any(struct nopal_at at, struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);
	uint64_t cumulative = nopal_get(at, segment, THREE_WAY_CUMULATIVE);
	bool first;

	if (segment->kind == nopal_kind(at, THREE_WAY_SYN))
		return NOPAL_CONTINUE;
	if (self->state == THREE_WAY_TELLING) {
		if (!three_way_is(cumulative, three_way_initial(at, THREE_WAY_LOCAL)))
			return NOPAL_STOP;
		three_way_settled(at);
		nopal_session_opened(at.session);
		return NOPAL_CONTINUE;
	}
	if (self->state != THREE_WAY_OPEN)
		return segment->kind == nopal_kind(at, THREE_WAY_SYN_ACK) ? NOPAL_CONTINUE
									  : NOPAL_STOP;
	self->heard_ns = at.session->now_ns;
	if (self->doubted)
		three_way_settled(at);
	if (self->closing.ours && three_way_is(cumulative, self->next + 1)) {
		first = !self->closing.acked;
		self->closing.acked = true;
		self->closing.sends = 0;
		if (first && self->closing.theirs)
			three_way_both_closed(at);
	}
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- numbers */

static enum nopal_verdict three_way_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, THREE_WAY_OF_DATA);

	if (number >= self->next)
		self->next = number + 1;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict three_way_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);

	if (!self->closing.theirs)
		self->cumulative = nopal_get(at, segment, THREE_WAY_OF_DATA) + 1;
	return NOPAL_CONTINUE;
}

static const struct nopal_kind three_way_kinds[] = {
	[THREE_WAY_SYN] = { "syn", NOPAL_KIND_OPENING, "asks a listener to open" },
	[THREE_WAY_SYN_ACK] = { "syn_ack", NOPAL_KIND_CONTROL, "opens the opener" },
	[THREE_WAY_ACK] = { "ack", NOPAL_KIND_CONTROL, "confirms that, or that a FIN has arrived" },
	[THREE_WAY_FIN] = { "fin", NOPAL_KIND_CONTROL, "no more messages will come" },
	{ 0 },
};

static const struct nopal_role three_way_provides[] = {
	{ "connection", true },
	{ "path_limit", true },
	{ "liveness" },
	{ "unchecked_connection" },
	{ 0 },
};

const struct nopal_microprotocol nopal_three_way = {
	NOPAL_DESCRIBE(three_way, base,
		       "open and close a session as the one-to-many protocol does, in its header"),
	.provides = three_way_provides,
	.needs = NOPAL_RELATIONS({ "one_to_many", "its packets exist in that header alone" }),
	.promises = NOPAL_PROMISES({ NOPAL_OPENING, NOPAL_OPENING_STAGE, NOPAL_GIVES, NOPAL_PROVEN,
				     "a random number has come back from the address of the peer" },
				   { NOPAL_DEATH, NOPAL_OPENING_STAGE, NOPAL_GIVES, NOPAL_NOTICED,
				     "a silent peer is asked" }),
	.parameters_size = sizeof(struct three_way_parameters),
	.parameters = NOPAL_PARAMETERS(
		RETRIES_PARAMETERS(three_way),
		NOPAL_NUMBER(three_way, silence_ns, "silence", TIME, "15s", "10ms", "10min",
			     "after so much the peer is asked, `attempts` times, `retry` apart",
			     .waits = NOPAL_WAITS_LONGEST),
		NOPAL_NUMBER(three_way, backlog, "backlog", COUNT, "128", "1", "65536",
			     "sessions half open at a listener, at most")),
	.validate = retries_validate,
	.attributes =
		NOPAL_ATTRIBUTES([THREE_WAY_NUMBER] = { "handshake_number", NOPAL_WRITE,
							"number of SYN, ACK and FIN" },
				 [THREE_WAY_CUMULATIVE] = { "handshake_cumulative", NOPAL_WRITE,
							    "the number that is waited for" },
				 [THREE_WAY_OF_DATA] = { "segment_number", NOPAL_READ }),
	.shared = NOPAL_SHARED(
		[THREE_WAY_LOCAL] = { "initial_local", NOPAL_WRITE, 1,
				      "our first number, random, before SESSION_OPENED" },
		[THREE_WAY_PEER] = { "initial_peer", NOPAL_WRITE, 1,
				     "the peer's first number, random, before SESSION_OPENED" }),
	.kinds = three_way_kinds,
	.timers = NOPAL_TIMERS([THREE_WAY_OPENING] = { "opening", three_way_when_opening },
			       [THREE_WAY_CLOSING] = { "closing", three_way_when_closing },
			       [THREE_WAY_LINGER] = { "linger", closing_when_lingered },
			       [THREE_WAY_SILENCE] = { "silence", three_way_when_silent }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(OPEN_SESSION, three_way_on_open_session),
		NOPAL_ON(SEND_SEGMENT, three_way_on_send),
		NOPAL_ON(SEGMENT_FROM_NET, three_way_on_any, .kinds = NOPAL_EVERY_KIND,
			 .before = "duplicate_filter|acknowledgement|loss_detection|flow_control"),
		NOPAL_ON_OWN(THREE_WAY_SYN, three_way_on_syn),
		NOPAL_ON_OWN(THREE_WAY_SYN_ACK, three_way_on_syn_ack),
		NOPAL_ON_OWN(THREE_WAY_FIN, three_way_on_fin),
		NOPAL_ON(SEGMENT_VERIFIED, three_way_on_verified),
		NOPAL_ON(CLOSE_SESSION, three_way_on_close_session)),
	.raises = NOPAL_RAISES("SESSION_OPENED", "PEER_CLOSED", "SESSION_BROKEN"),
	.state_size = sizeof(struct three_way),
	.admission = &(const struct nopal_admission){ three_way_admit },
};
