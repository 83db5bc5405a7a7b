/* SPDX-License-Identifier: MIT */
/*
 * virtual_circuit -- open and close a session by handshake.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A.
 * Differs:   a listener keeps no state before the opener's address is proven by
 *            a cookie (as SYN cookies, RFC 4987, and SCTP's, RFC 9260, section 5.1);
 *            every reply to an unproven address is smaller than its request.
 *            Both directions close, each is acknowledged.  Two that open towards
 *            each other meet (Gu and Grossman, UDTv4, section 3.3): CTP has no such
 *            opening.
 * Wire:      connect (opening): the composition's text, a zero byte, nonce 8, initial
 *            number 4, extensions, cookie given 1, cookie epoch 1, cookie 8, early data,
 *            zeros;
 *            cookie (reply): type 1, nonce 8, cookie 8, cookie epoch 1;
 *            accept (answer): nonce 8, session id 4, initial number 4, extensions;
 *            close, close_ack (control): nonce 8, flags 1.
 *
 *   opener                                        listener
 *   ASKING   connect ---------------------------> (no state)
 *            <----------------------- cookie       |
 *            connect with cookie ---------------> TELLING: open for data
 *            <----------------------- accept       |  accept until confirmed
 *   OPEN     accept ----------------------------> OPEN
 *
 *   A request with early data is admitted without a cookie where the microprotocol
 *   that has them says so (early_data); else it gets one, and leaves without them.
 *
 *   Where both open towards each other (struct nopal_open) both are ASKING, until
 *   the one with the smaller nonce has seen a cookie of its own: then it is TELLING.
 *   The other one asks at once when it hears of its peer.
 *
 *   either side, when its application has closed and its messages have outcomes:
 *
 *            close until acknowledged ----------> PEER_CLOSED, once
 *            <-------------------- close_ack
 *            (and, while the peer stays open, now and then, to see it live)
 *
 *   closed both ways and acknowledged: the side that knows that its peer knows
 *   this too ends at once; the other lingers to answer a repeated close.
 */
#include "virtual_circuit.h"

enum { VIRTUAL_CIRCUIT_INITIAL_SHIFT = 64 - 31 }; /* leaves 31 random bits */

/* ------------------------------------------------------------------- opening */

/* Is the peer of a rendezvous still to be heard? */
static bool virtual_circuit_waits(const struct nopal_session *session,
				  const struct virtual_circuit *self)
{
	return nopal_session_rendezvous(session) && self->state == VIRTUAL_CIRCUIT_ASKING &&
	       !self->connect.cookie_given;
}

/* Repeats the segment that the other side has not answered yet. */
static void virtual_circuit_repeat_opening(struct nopal_at at)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	struct virtual_circuit *self = nopal_state(at);
	int64_t again_ns;

	self->opening_sends++;
	if (nopal_session_rendezvous(at.session))
		self->asked_ns = at.session->now_ns;
	if (self->state == VIRTUAL_CIRCUIT_ASKING)
		virtual_circuit_send_connect(at);
	else if (self->state == VIRTUAL_CIRCUIT_TELLING)
		virtual_circuit_send_accept(at);
	again_ns = at.session->now_ns + retries_wait(&set->retries, self->opening_sends);
	if (virtual_circuit_waits(at.session, self) && again_ns > self->rendezvous_until_ns)
		again_ns = self->rendezvous_until_ns;
	nopal_timer_start(at, VIRTUAL_CIRCUIT_OPENING, again_ns);
}

static void virtual_circuit_when_opening(struct nopal_at at)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	struct virtual_circuit *self = nopal_state(at);

	if (virtual_circuit_waits(at.session, self)) {
		if (at.session->now_ns < self->rendezvous_until_ns)
			virtual_circuit_repeat_opening(at);
		else
			nopal_session_break(at.session, NOPAL_UNREACHABLE,
					    "the peer did not open towards us in time");
	} else if (self->opening_sends < set->retries.attempts)
		virtual_circuit_repeat_opening(at);
	else if (self->state == VIRTUAL_CIRCUIT_ASKING)
		nopal_session_break(at.session, NOPAL_UNREACHABLE,
				    "no answer to the request to open");
	else
		nopal_session_break(at.session, NOPAL_UNREACHABLE,
				    "the opener fell silent while opening");
}

static enum nopal_verdict virtual_circuit_on_open_session(struct nopal_at at,
							  struct nopal_session *subject)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	struct virtual_circuit *self = nopal_state(at);
	uint64_t initial = 1 + (nopal_random(at.session) >> VIRTUAL_CIRCUIT_INITIAL_SHIFT);

	(void)subject;
	nopal_shared_set(at, VIRTUAL_CIRCUIT_LOCAL, (int64_t)initial);
	if (nopal_session_is_opener(at.session)) {
		self->connect.nonce = nopal_random(at.session);
		self->connect.initial = initial;
		self->state = VIRTUAL_CIRCUIT_ASKING;
		if (nopal_session_rendezvous(at.session))
			self->rendezvous_until_ns = at.session->now_ns + set->rendezvous_ns;
	}
	if (nopal_session_is_opener(at.session) && nopal_early_ready(at.session))
		nopal_timer_start(at, VIRTUAL_CIRCUIT_OPENING, at.session->now_ns);
	else
		virtual_circuit_repeat_opening(at);
	return NOPAL_CONTINUE;
}

/* The side that stays the opener asks at once when it hears the peer: now a request may pass.  That
 * is no longer than the peer's, and not more frequent than by the timer. */
static enum nopal_admission_verdict virtual_circuit_rendezvous(struct nopal_at at,
							       struct nopal_request *request,
							       struct nopal_writer *reply)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	struct virtual_circuit *self = nopal_state(at);
	bool stays;
	enum nopal_admission_verdict verdict =
		handshake_rendezvous(at.session, request, &self->connect, reply, &stays);

	if (stays && at.session->now_ns - self->asked_ns >= set->retries.first_ns &&
	    nopal_read_left(&request->body) >=
		    handshake_connect_bytes(at, VIRTUAL_CIRCUIT_CONNECT)) {
		self->opening_sends = 0;
		virtual_circuit_repeat_opening(at);
	}
	return verdict;
}

/* A new cookie is used at once; a listener that never accepts its own gets no more requests than
 * `attempts`. */
static enum nopal_verdict virtual_circuit_on_reply(struct nopal_at at,
						   struct nopal_segment *segment)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	struct virtual_circuit *self = nopal_state(at);
	struct handshake_connect *ours = &self->connect, said;

	if (self->state != VIRTUAL_CIRCUIT_ASKING ||
	    !handshake_read_cookie(nopal_body_reader(&segment->body), &said) ||
	    said.nonce != ours->nonce || self->cookies >= set->retries.attempts ||
	    (ours->cookie_given && ours->cookie == said.cookie) || !nopal_early_refused(at.session))
		return NOPAL_STOP;
	ours->cookie = said.cookie;
	ours->cookie_epoch = said.cookie_epoch;
	ours->cookie_given = 1;
	if (self->cookies++ == 0)
		self->opening_sends = 0;
	virtual_circuit_repeat_opening(at);
	return NOPAL_STOP;
}

/* At the listener's session: its first segment, and each repetition of it.  A side of a rendezvous
 * that gave way has asked before. */
static enum nopal_verdict virtual_circuit_on_connect(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct virtual_circuit *self = nopal_state(at);
	struct handshake_connect said;
	struct handshake_accept accept;
	struct nopal_reader known, early;

	if (nopal_session_is_opener(at.session) ||
	    !handshake_read_connect(nopal_body_reader(&segment->body),
				    nopal_extensions_bytes(at.session), &said, &known))
		return NOPAL_STOP;
	if (self->state == VIRTUAL_CIRCUIT_ASKING)
		self->state = VIRTUAL_CIRCUIT_LISTENING;
	if (self->state != VIRTUAL_CIRCUIT_LISTENING) {
		if (said.nonce == self->connect.nonce)
			virtual_circuit_send_accept(at);
		return NOPAL_STOP;
	}
	self->connect.nonce = said.nonce;
	accept = virtual_circuit_accept(at);
	early = handshake_early(nopal_body_reader(&segment->body), known);
	if (!handshake_answer(at.session, known, early, &accept)) {
		nopal_session_break(at.session, NOPAL_REFUSED,
				    "the opener's handshake extensions are refused");
		return NOPAL_STOP;
	}
	self->state = VIRTUAL_CIRCUIT_TELLING;
	self->opening_sends = 0;
	nopal_shared_set(at, VIRTUAL_CIRCUIT_PEER, (int64_t)said.initial);
	virtual_circuit_repeat_opening(at);
	nopal_session_opened(at.session);
	nopal_early_deliver(at.session);
	return NOPAL_STOP;
}

static void virtual_circuit_confirmed(struct nopal_at at)
{
	struct virtual_circuit *self = nopal_state(at);

	self->state = VIRTUAL_CIRCUIT_OPEN;
	self->asked_ns = self->rendezvous_until_ns = 0; /* rests in fewer bytes */
	nopal_timer_stop(at, VIRTUAL_CIRCUIT_OPENING);
}

/* The listener's accept opens the opener, whose own confirms it.  Where that was lost, the
 * listener's comes again.  At the listener the segment's coming is all that counts. */
static enum nopal_verdict virtual_circuit_on_accept(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct virtual_circuit *self = nopal_state(at);
	bool opens = self->state == VIRTUAL_CIRCUIT_ASKING;
	struct handshake_accept said;
	struct nopal_reader extensions;

	if (!nopal_session_is_opener(at.session) ||
	    !handshake_read_accept(nopal_body_reader(&segment->body),
				   nopal_extensions_bytes(at.session), &said, &extensions) ||
	    said.nonce != self->connect.nonce || !nopal_extensions_read(at.session, &extensions) ||
	    (opens &&
	     !handshake_answered(at.session, handshake_connect_bytes(at, VIRTUAL_CIRCUIT_CONNECT),
				 &self->connect, segment)))
		return NOPAL_STOP;
	if (opens) {
		virtual_circuit_confirmed(at);
		nopal_session_set_peer_id(at.session, (uint32_t)said.id);
		nopal_shared_set(at, VIRTUAL_CIRCUIT_PEER, (int64_t)said.initial);
	}
	virtual_circuit_send_accept(at);
	if (opens)
		nopal_session_opened(at.session);
	return NOPAL_STOP;
}

/* Before the accept an opener cannot read its peer's numbers: segments that overtook it go no
 * further.  At the listener any segment but another connect shows that the opener has the accept;
 * from then on a connect, which anybody could have sent again, is dropped. */
static enum nopal_verdict virtual_circuit_on_any(struct nopal_at at, struct nopal_segment *segment)
{
	struct virtual_circuit *self = nopal_state(at);
	bool connect = segment->kind == nopal_kind(at, VIRTUAL_CIRCUIT_CONNECT);
	bool accept = segment->kind == nopal_kind(at, VIRTUAL_CIRCUIT_ACCEPT);

	if (self->state == VIRTUAL_CIRCUIT_OPEN)
		return connect ? NOPAL_STOP : NOPAL_CONTINUE;
	if (self->state == VIRTUAL_CIRCUIT_ASKING)
		return accept || (connect && !nopal_session_is_opener(at.session)) ? NOPAL_CONTINUE
										   : NOPAL_STOP;
	if (self->state == VIRTUAL_CIRCUIT_TELLING && !connect)
		virtual_circuit_confirmed(at);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- closing */

static void virtual_circuit_repeat_close(struct nopal_at at)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	struct virtual_circuit *self = nopal_state(at);
	int64_t wait_ns = closing_wait(&self->closing, &set->retries);

	virtual_circuit_send_close(at, VIRTUAL_CIRCUIT_CLOSE, self->closing.theirs);
	nopal_timer_start(at, VIRTUAL_CIRCUIT_CLOSING, at.session->now_ns + wait_ns);
}

static void virtual_circuit_when_closing(struct nopal_at at)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	const struct virtual_circuit *self = nopal_state(at);

	if (closing_goes_on(at.session, &self->closing, &set->retries, "no answer to the close"))
		virtual_circuit_repeat_close(at);
}

static enum nopal_verdict virtual_circuit_on_close_session(struct nopal_at at,
							   struct nopal_session *subject)
{
	struct virtual_circuit *self = nopal_state(at);

	(void)subject;
	self->closing.ours = true;
	virtual_circuit_repeat_close(at);
	return NOPAL_CONTINUE;
}

/* Our close has arrived.  `settled`: the peer knows that all is acknowledged. */
static void virtual_circuit_acked(struct nopal_at at, bool settled)
{
	const struct virtual_circuit_parameters *set = nopal_parameters(at);
	struct virtual_circuit *self = nopal_state(at);

	self->closing.acked = true;
	self->closing.sends = 0;
	if (!self->closing.theirs)
		return;
	nopal_timer_stop(at, VIRTUAL_CIRCUIT_CLOSING);
	if (settled)
		nopal_session_closed(at.session);
	else if (!nopal_timer_running(at, VIRTUAL_CIRCUIT_LINGER))
		nopal_timer_start(at, VIRTUAL_CIRCUIT_LINGER,
				  at.session->now_ns + set->retries.linger_ns);
}

/* Is the segment a close or close_ack of this connection? */
static bool virtual_circuit_read_close(const struct virtual_circuit *self,
				       const struct nopal_segment *segment, bool *ret_known)
{
	uint64_t nonce;

	return self->state >= VIRTUAL_CIRCUIT_TELLING &&
	       handshake_read_close(nopal_body_reader(&segment->body), &nonce, ret_known) &&
	       nonce == self->connect.nonce;
}

static enum nopal_verdict virtual_circuit_on_close(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct virtual_circuit *self = nopal_state(at);
	bool known, first;

	if (!virtual_circuit_read_close(self, segment, &known))
		return NOPAL_STOP;
	first = !self->closing.theirs;
	self->closing.theirs = true;
	if (first)
		nopal_session_peer_closed(at.session);
	self->closing.acked |= known && self->closing.ours;
	virtual_circuit_send_close(at, VIRTUAL_CIRCUIT_CLOSE_ACK, self->closing.acked);
	if (self->closing.acked)
		virtual_circuit_acked(at, false);
	return NOPAL_STOP;
}

static enum nopal_verdict virtual_circuit_on_close_ack(struct nopal_at at,
						       struct nopal_segment *segment)
{
	struct virtual_circuit *self = nopal_state(at);
	bool settled;

	if (virtual_circuit_read_close(self, segment, &settled) && self->closing.ours)
		virtual_circuit_acked(at, settled);
	return NOPAL_STOP;
}

static const struct nopal_kind virtual_circuit_kinds[] = {
	[VIRTUAL_CIRCUIT_CONNECT] = { "connect", NOPAL_KIND_OPENING, "asks a listener to open" },
	[VIRTUAL_CIRCUIT_ACCEPT] = { "accept", NOPAL_KIND_ANSWER, "opens, and confirms that" },
	[VIRTUAL_CIRCUIT_CLOSE] = { "close", NOPAL_KIND_CONTROL, "no more messages will come" },
	[VIRTUAL_CIRCUIT_CLOSE_ACK] = { "close_ack", NOPAL_KIND_CONTROL, "the close has arrived" },
	{ 0 },
};

const struct nopal_microprotocol nopal_virtual_circuit = {
	NOPAL_DESCRIBE(virtual_circuit, base, "open and close a session by handshake"),
	.provides = NOPAL_ROLES({ "connection", true }),
	.standard = "connection",
	.needs = NOPAL_RELATIONS({ "network", "a listener meets openers where datagrams arrive" }),
	.promises = NOPAL_PROMISES({ NOPAL_OPENING, NOPAL_OPENING_STAGE, NOPAL_GIVES, NOPAL_PROVEN,
				     "a cookie has come back from the address of the peer" }),
	.parameters_size = sizeof(struct virtual_circuit_parameters),
	.parameters = NOPAL_PARAMETERS(
		RETRIES_PARAMETERS(virtual_circuit),
		NOPAL_NUMBER(virtual_circuit, rendezvous_ns, "rendezvous", TIME, "30s", "1ms",
			     "24h", "how long a session waits for a peer that is to open, too",
			     .waits = NOPAL_WAITS_LONGEST)),
	.validate = retries_validate,
	.shared = NOPAL_SHARED(
		[VIRTUAL_CIRCUIT_LOCAL] = { "initial_local", NOPAL_WRITE, 1,
					    "our first number, random, before SESSION_OPENED" },
		[VIRTUAL_CIRCUIT_PEER] = { "initial_peer", NOPAL_WRITE, 1,
					   "the peer's first number, random, before SESSION_OPENED" }),
	.kinds = virtual_circuit_kinds,
	.timers = NOPAL_TIMERS([VIRTUAL_CIRCUIT_OPENING] = { "opening",
							     virtual_circuit_when_opening },
			       [VIRTUAL_CIRCUIT_CLOSING] = { "closing",
							     virtual_circuit_when_closing },
			       [VIRTUAL_CIRCUIT_LINGER] = { "linger", closing_when_lingered }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(OPEN_SESSION, virtual_circuit_on_open_session),
		NOPAL_ON(
			SEGMENT_FROM_NET, virtual_circuit_on_any, .kinds = NOPAL_EVERY_KIND,
			.before =
				"liveness|duplicate_filter|acknowledgement|loss_detection|redundancy|flow_control"),
		NOPAL_ON(SEGMENT_FROM_NET, virtual_circuit_on_reply, .kinds = NOPAL_REPLIES),
		NOPAL_ON_OWN(VIRTUAL_CIRCUIT_CONNECT, virtual_circuit_on_connect),
		NOPAL_ON_OWN(VIRTUAL_CIRCUIT_ACCEPT, virtual_circuit_on_accept),
		NOPAL_ON_OWN(VIRTUAL_CIRCUIT_CLOSE, virtual_circuit_on_close),
		NOPAL_ON_OWN(VIRTUAL_CIRCUIT_CLOSE_ACK, virtual_circuit_on_close_ack),
		NOPAL_ON(CLOSE_SESSION, virtual_circuit_on_close_session)),
	.raises = NOPAL_RAISES("SESSION_OPENED", "PEER_CLOSED", "SESSION_BROKEN"),
	.state_size = sizeof(struct virtual_circuit),
	.admission = &(const struct nopal_admission){ handshake_admit, virtual_circuit_rendezvous },
};
