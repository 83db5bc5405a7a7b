/* SPDX-License-Identifier: MIT */
/*
 * handshake.c -- requests for a session that does not exist yet, and their replies.
 *
 *   CONNECT       first byte, opener's id, fingerprint, check, body
 *   MEET          the same, where the peer opens to us, too: rendezvous.c
 *   DATA_OPENING  first byte, opener's id, fingerprint, fields, body, trailer
 *   CONTROL_OPENING   the same, with the byte of the kind before the fields
 *   REPLY         first byte, opener's id, check, type, body
 *   ASK, RESET    see doubt.c and reset.c
 *
 * A listener keeps no state for any of them until the plan's admission accepts. It builds only
 * compositions of its own list; another one is refused with the difference, in a reply smaller
 * than the request.  `check` is a hash of all that follows it, under the fingerprint and the
 * opener's id: against accidents, not against forgers.  A reply has only 2 bytes of it, so that an
 * answer is smaller than any opening.
 *
 * Peers of another protocol open a session by their first datagram, or by a handshake of that
 * protocol, whose answers are the session's own.
 */
#include <string.h>

#include "wire/wire.h"
#include "engine/segment.h"
#include "engine/timer.h"
#include "engine/turn.h"
#include "session/session.h"

enum {
	REPLY_REFUSED = 255, /* type of a reply: text follows */
	REPLY_ANSWER = 2,    /* to connectionless data: our session id follows */
	REPLY_KNOWN = 3,     /* to an ask: doubt.c */
	REPLY_HEAD = 1 + NOPAL_ID_BYTES,
	REPLY_CHECK_BYTES = 2, /* so that an answer is smaller than any opening */
	REPLY_ROOM = 1200,
	OPENING_HEAD = 1 + NOPAL_ID_BYTES + NOPAL_FINGERPRINT_BYTES,
};

static uint64_t check_of(uint64_t fingerprint, uint32_t opener_id, const uint8_t *bytes,
			 size_t length)
{
	const uint64_t key[2] = { fingerprint, opener_id };

	return nopal__siphash(key, bytes, length);
}

static struct nopal_endpoint *endpoint_of(const struct nopal_request *request)
{
	return ((const struct request_context *)request->context)->endpoint;
}

static const struct nopal_address *from_of(const struct nopal_request *request)
{
	return ((const struct request_context *)request->context)->from;
}

uint64_t nopal_request_mac(const struct nopal_request *request, uint64_t epoch, uint64_t extra)
{
	uint8_t bytes[64];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

	nopal_write_bytes(&writer, from_of(request)->ip, sizeof(from_of(request)->ip));
	nopal_write(&writer, from_of(request)->port, 2);
	nopal_write(&writer, request->peer_id, NOPAL_ID_BYTES);
	nopal_write(&writer, request->fingerprint, NOPAL_FINGERPRINT_BYTES);
	nopal_write(&writer, epoch, sizeof(epoch));
	nopal_write(&writer, extra, sizeof(extra));
	return nopal__siphash(endpoint_of(request)->secret, bytes, nopal_written(&writer));
}

/* ------------------------------------------------------- requests and replies */

void nopal__opening_pack(struct nopal_composite *composite, const struct nopal_segment *segment)
{
	uint32_t bytes = OPENING_HEAD + NOPAL_CHECK_BYTES + segment->body.length;
	uint8_t *start = nopal__train_room(composite, nopal__first_way(composite), bytes);
	struct nopal_writer writer = nopal_writer_over(start, bytes);

	if (!start)
		return;
	nopal_write(&writer,
		    nopal__first_byte(composite->rendezvous ? NOPAL_KIND_RENDEZVOUS
							    : NOPAL_KIND_CONNECT),
		    1);
	nopal_write(&writer, composite->local_id, NOPAL_ID_BYTES);
	nopal_write(&writer, composite->layer->plan->info.fingerprint, NOPAL_FINGERPRINT_BYTES);
	nopal_write(&writer,
		    check_of(composite->layer->plan->info.fingerprint, composite->local_id,
			     segment->body.bytes, segment->body.length),
		    NOPAL_CHECK_BYTES);
	nopal_write_bytes(&writer, segment->body.bytes, segment->body.length);
	nopal__train_add(composite, composite->endpoint, bytes);
}

static void reply_send(const struct nopal_request *request, uint8_t *bytes,
		       struct nopal_writer *body)
{
	struct nopal_writer writer = nopal_writer_over(bytes, REPLY_HEAD + REPLY_CHECK_BYTES);
	uint32_t length = nopal_written(body);

	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_REPLY), 1);
	nopal_write(&writer, request->peer_id, NOPAL_ID_BYTES);
	nopal_write(&writer,
		    check_of(request->fingerprint, request->peer_id, body->start, length) &
			    UINT16_MAX,
		    REPLY_CHECK_BYTES);
	nopal__endpoint_answer(endpoint_of(request), from_of(request), bytes,
			       REPLY_HEAD + REPLY_CHECK_BYTES + length);
}

/* A reply never reaches the size of its request; that of the shortest is a head and more. */
_Static_assert(OPENING_HEAD > REPLY_HEAD + REPLY_CHECK_BYTES + 1,
	       "a reply to an opening has room for its type");
static struct nopal_writer reply_body(const struct nopal_request *request, uint8_t *bytes)
{
	const size_t head = REPLY_HEAD + REPLY_CHECK_BYTES;
	size_t room = request->datagram_bytes - 1;

	if (room > REPLY_ROOM)
		room = REPLY_ROOM;
	return nopal_writer_over(bytes + head, room - head);
}

/* ------------------------------------------------------------------ refusals */

/* With as much of the text as fits. */
static void refuse(const struct nopal_request *request, const char *text)
{
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, bytes);
	size_t length = strlen(text), room;

	endpoint_of(request)->port.counters.refused++;
	nopal_write(&reply, REPLY_REFUSED, 1);
	room = (size_t)(reply.end - reply.at);
	nopal_write_bytes(&reply, text, length < room ? length : room);
	reply_send(request, bytes, &reply);
}

/* The request begins with the text of its composition, but for data of a stranger. */
static void refuse_stranger(struct nopal_request *request)
{
	char *theirs = nopal__peer_text(&request->body);
	char *text =
		theirs && *theirs ? nopal__listeners_differ(endpoint_of(request), theirs) : NULL;

	refuse(request, text ? text : "the listener does not run this composition");
	free(theirs);
	free(text);
}

/* ---------------------------------------------------------- requests arrive */

struct nopal_listener_entry *nopal__listener_of(const struct nopal_endpoint *endpoint,
						uint64_t fingerprint)
{
	struct nopal_listener_entry *entry = endpoint->listeners;

	while (entry && entry->plan->info.fingerprint != fingerprint)
		entry = entry->next;
	return entry;
}

static struct nopal_listener_entry *listener_of(const struct nopal_request *request)
{
	return nopal__listener_of(endpoint_of(request), request->fingerprint);
}

uint64_t nopal__opening_key(const struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    uint32_t peer_id)
{
	uint8_t bytes[32];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	uint64_t key;

	nopal_write_bytes(&writer, from->ip, sizeof(from->ip));
	nopal_write(&writer, from->port, 2);
	nopal_write(&writer, peer_id, NOPAL_ID_BYTES);
	key = nopal__siphash(endpoint->secret, bytes, nopal_written(&writer));
	return key ? key : 1;
}

/* A listener's session: a session that opened from here gets no requests. */
static struct nopal_composite *opening_session(const struct nopal_request *request)
{
	struct nopal_composite *composite =
		nopal__session_with(endpoint_of(request), from_of(request), request->peer_id);

	return composite && !composite->opener ? composite : NULL;
}

void nopal_session_set_peer_id(struct nopal_session *session, uint32_t id)
{
	struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));

	bottom->peer_id = id;
	bottom->peer_known = true;
	if (bottom->opener && nopal__plan_resets(bottom->layer->plan))
		nopal__demux_know_peer(bottom);
}

/* A new session, which no list has yet; NULL: out of memory. */
static struct nopal_composite *session_for(const struct nopal_listener_entry *entry,
					   const struct nopal_request *request)
{
	struct nopal_composite *bottom =
		nopal__session_make(endpoint_of(request), entry->plan, from_of(request));

	if (bottom)
		nopal_session_set_peer_id(&bottom->session, request->peer_id);
	return bottom;
}

static void accept_session(const struct nopal_listener_entry *entry, struct nopal_composite *bottom)
{
	struct nopal_composite *top;

	nopal__demux_know_peer(bottom);
	bottom->endpoint->port.counters.accepted++;
	bottom->endpoint->half_open++;
	bottom->half_open = true;
	top = nopal__top(bottom);
	top->callbacks = &entry->callbacks;
	top->user = entry->user;
	if (top->callbacks->accepted && !top->up->turned) /* its streams are */
		top->user = top->callbacks->accepted(&top->session, entry->user);
	nopal__session_start(bottom);
	if (nopal__demux_accept(bottom) < 0)
		nopal__session_end(bottom, NOPAL_RESOURCE, "no room for one more address");
	bottom->awake->heard_ns = bottom->session.now_ns;
	if (!entry->plan->admission)
		nopal__silence_watch(bottom);
}

static struct nopal_composite *accept_at_once(const struct nopal_listener_entry *entry,
					      const struct nopal_request *request)
{
	struct nopal_composite *composite = session_for(entry, request);

	if (composite)
		accept_session(entry, composite);
	return composite;
}

/* Does the admission accept the request: for a session of ours that opens to the peer, too, or
 * (NULL) for a new one?  A request that is not accepted may get a reply. */
static bool is_admitted(struct nopal_request *request, const struct nopal_layer *layer,
			struct nopal_composite *composite)
{
	const struct nopal_part *part = layer->plan->admission;
	const struct nopal_admission *admission = part->microprotocol->admission;
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, bytes);
	enum nopal_admission_verdict verdict;

	request->extension_bytes = nopal__extensions_bytes(layer);
	verdict = composite ? admission->rendezvous((struct nopal_at){ &composite->session, part },
						    request, &reply)
			    : admission->admit((struct nopal_at){ .part = part }, request, &reply);
	if (verdict == NOPAL_ADMIT_REPLY && !reply.full)
		reply_send(request, bytes, &reply);
	return verdict == NOPAL_ADMIT_ACCEPT;
}

/* The bytes of a datagram that are for microprotocols, as a segment. */
static void body_arrives(struct nopal_composite *composite, uint8_t kind,
			 struct nopal_buffer *buffer, struct nopal_reader body)
{
	struct nopal_segment *segment = nopal__segment_make(composite, kind);

	if (!segment)
		return;
	segment->incoming = true;
	segment->body = (struct nopal_body){ nopal_buffer_ref(buffer), body.at,
					     (uint32_t)nopal_read_left(&body) };
	nopal__segment_arrive(composite, segment);
}

/* The session of ours that opens to the peer of the request, if it gives way.  Where both run
 * different compositions, each is told the difference. */
static struct nopal_composite *answer_rendezvous(struct nopal_request *request)
{
	struct nopal_composite *composite =
		nopal__rendezvous_with(endpoint_of(request), from_of(request));
	const char *ours;
	char *theirs, *text;

	if (!composite)
		return NULL;
	nopal__touch(composite);
	if (composite->layer->plan->info.fingerprint == request->fingerprint) {
		if (!is_admitted(request, composite->layer, composite))
			return NULL;
		nopal__rendezvous_turn(composite, request->peer_id);
		return composite;
	}
	ours = composite->layer->plan->info.canonical;
	theirs = nopal__peer_text(&request->body);
	text = theirs ? nopal__plans_differ(theirs, ours) : NULL;
	refuse(request, text ? text : "");
	free(text);
	text = theirs ? nopal__plans_differ(ours, theirs) : NULL;
	nopal__rendezvous_differs(composite, text, false);
	free(theirs);
	return NULL;
}

static void connect_receive(struct nopal_request *request, struct nopal_buffer *buffer,
			    bool rendezvous)
{
	uint64_t check = nopal_read(&request->body, NOPAL_CHECK_BYTES);
	struct nopal_reader body = request->body;
	struct nopal_listener_entry *entry;
	struct nopal_composite *composite;

	if (body.bad || check != check_of(request->fingerprint, request->peer_id, body.at,
					  nopal_read_left(&body))) {
		endpoint_of(request)->port.counters.malformed++;
		return;
	}
	entry = listener_of(request);
	composite = opening_session(request);
	if (!composite && rendezvous)
		composite = answer_rendezvous(request);
	else if (!composite && (!entry || !entry->plan->admission))
		refuse_stranger(request);
	else if (!composite &&
		 is_admitted(request, &entry->plan->layers[entry->plan->layer_count - 1], NULL))
		composite = accept_at_once(entry, request);
	if (!composite || composite->life == NOPAL_LIFE_ENDED)
		return;
	nopal__touch(composite);
	if (composite->life != NOPAL_LIFE_ENDED)
		body_arrives(composite, NOPAL_KIND_CONNECT, buffer, body);
}

/* A stranger's session begins when its first datagram is known to be whole: a damaged one may name
 * any peer.  A control kind follows the fingerprint. */
static void opening_receive(struct nopal_request *request, struct nopal_buffer *buffer,
			    uint8_t *bytes, uint32_t length, bool control)
{
	const uint8_t kind = control ? bytes[OPENING_HEAD] : NOPAL_KIND_DATA;
	struct nopal_composite *composite = opening_session(request);
	struct nopal_listener_entry *entry = composite ? NULL : listener_of(request);
	struct nopal_segment *segment;
	uint8_t answer[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, answer);

	if (entry && (entry->plan->admission || !(entry->flags & NOPAL_ALLOW_CONNECTIONLESS)))
		entry = NULL;
	if (composite) {
		nopal__touch(composite);
	} else if (entry) {
		composite = session_for(entry, request);
	} else {
		request->body.at = request->body.end; /* no text of a composition */
		refuse_stranger(request);
	}
	if (!composite || composite->life == NOPAL_LIFE_ENDED)
		return;
	composite->awake->counters.datagrams_in++;
	composite->awake->counters.datagram_bytes_in += length;
	segment = nopal__unpack(composite, kind, buffer, bytes, length, OPENING_HEAD + control);
	if (!segment && entry) {
		endpoint_of(request)->port.counters.malformed++;
		nopal__session_unmake(composite);
	}
	if (!segment)
		return;
	composite->awake->heard_ns = composite->session.now_ns;
	if (entry)
		accept_session(entry, composite);
	if (composite->life == NOPAL_LIFE_ENDED) {
		nopal__segment_free(composite, segment);
		return;
	}
	nopal_write(&reply, REPLY_ANSWER, 1);
	nopal_write(&reply, composite->local_id, NOPAL_ID_BYTES);
	if (!reply.full)
		reply_send(request, answer, &reply);
	nopal__segment_arrive(composite, segment);
}

/* Of a datagram, all of which is still to be read. */
static struct nopal_request request_of(const struct request_context *context, const uint8_t *bytes,
				       uint32_t length)
{
	return (struct nopal_request){
		.body = nopal_reader_over(bytes, length),
		.datagram_bytes = length,
		.now_ns = context->endpoint->port.world->now_ns,
		.context = context,
		.half_open = context->endpoint->half_open,
	};
}

void nopal__opening_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length)
{
	struct request_context context = { endpoint, from };
	struct nopal_request request = request_of(&context, bytes, length);
	uint8_t kind, own, answer[REPLY_ROOM];
	struct nopal_writer reply;
	struct nopal_reader rest;

	nopal__first_byte_parse((uint8_t)nopal_read(&request.body, 1), &kind);
	request.peer_id = (uint32_t)nopal_read(&request.body, NOPAL_ID_BYTES);
	request.fingerprint = nopal_read(&request.body, NOPAL_FINGERPRINT_BYTES);
	rest = request.body;
	own = kind == NOPAL_KIND_CONTROL_OPENING ? (uint8_t)nopal_read(&rest, 1)
						 : NOPAL_KIND_FIRST_OWN;
	if (request.body.bad || request.peer_id == 0 || own < NOPAL_KIND_FIRST_OWN ||
	    own >= NOPAL_KIND_OWN_END) {
		endpoint->port.counters.malformed++;
		return;
	}
	endpoint->port.counters.requests++;
	if (kind == NOPAL_KIND_CONNECT || kind == NOPAL_KIND_RENDEZVOUS) {
		connect_receive(&request, buffer, kind == NOPAL_KIND_RENDEZVOUS);
		return;
	}
	if (kind != NOPAL_KIND_ASK) {
		opening_receive(&request, buffer, bytes, length,
				kind == NOPAL_KIND_CONTROL_OPENING);
		return;
	}
	reply = reply_body(&request, answer);
	nopal_write(&reply, REPLY_KNOWN, 1);
	nopal__ask_receive(&request, &reply);
	if (reply.full)
		endpoint->port.counters.malformed++;
	else
		reply_send(&request, answer, &reply);
}

/* ------------------------------------------------------ another protocol opens */

static bool interop_opens(const struct nopal_plan *plan, struct nopal_reader datagram)
{
	const struct nopal_format *format = plan->format->microprotocol->format;
	uint8_t kind;

	if (format->opens && !format->opens((struct nopal_at){ .part = plan->format }, datagram))
		return false;
	if (!plan->admission)
		return !format->kind_of ||
		       format->kind_of((struct nopal_at){ .part = plan->format }, datagram) < 0;
	kind = nopal__interop_kind(plan, datagram.at, (uint32_t)nopal_read_left(&datagram));
	return plan->kinds[kind].class == NOPAL_KIND_OPENING;
}

struct nopal_composite *nopal__interop_accept(struct nopal_endpoint *endpoint,
					      const struct nopal_address *from,
					      const uint8_t *bytes, uint32_t length)
{
	struct request_context context = { endpoint, from };
	struct nopal_request request = request_of(&context, bytes, length);
	struct nopal_writer nowhere = { 0 }; /* only a session answers there */

	endpoint->port.counters.requests++;
	for (const struct nopal_listener_entry *entry = endpoint->listeners; entry;
	     entry = entry->next) {
		const struct nopal_part *part = entry->plan->admission;

		if (interop_opens(entry->plan, request.body) &&
		    (!part || part->microprotocol->admission->admit(
				      (struct nopal_at){ .part = part }, &request, &nowhere) ==
				      NOPAL_ADMIT_ACCEPT))
			return accept_at_once(entry, &request);
	}
	endpoint->port.counters.refused++;
	return NULL;
}

/* --------------------------------------------------------- a reply came back */

static void refused(struct nopal_composite *composite, struct nopal_reader body)
{
	char *text = nopal__peer_text(&body);

	if (composite->rendezvous) {
		nopal__rendezvous_differs(composite, text, true);
		return;
	}
	nopal__session_ended_there(composite, NOPAL_REFUSED, text);
	free(text);
}

void nopal__reply_receive(struct nopal_composite *composite, struct nopal_buffer *buffer,
			  uint8_t *bytes, uint32_t length)
{
	struct nopal_reader body = nopal_reader_over(bytes + REPLY_HEAD, length - REPLY_HEAD);
	uint64_t check = nopal_read(&body, REPLY_CHECK_BYTES);
	struct nopal_reader whole = body;
	uint64_t type;

	if (body.bad || check != (check_of(composite->layer->plan->info.fingerprint,
					   composite->local_id, body.at, nopal_read_left(&body)) &
				  UINT16_MAX)) {
		composite->awake->counters.rx_malformed++;
		return;
	}
	type = nopal_read(&body, 1);
	if (type == REPLY_KNOWN)
		nopal__doubt_answered(composite, &body);
	if (type == REPLY_KNOWN || !composite->opener ||
	    (composite->peer_known && composite->layer->plan->admission))
		return;
	if (type == REPLY_REFUSED && !composite->peer_known)
		refused(composite, body);
	else if (type == REPLY_ANSWER && nopal_read_left(&body) == NOPAL_ID_BYTES)
		nopal_session_set_peer_id(&composite->session,
					  (uint32_t)nopal_read(&body, NOPAL_ID_BYTES));
	else if (!body.bad && !composite->peer_known)
		body_arrives(composite, NOPAL_KIND_REPLY, buffer, whole);
}
