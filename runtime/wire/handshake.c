/* SPDX-License-Identifier: MIT */
/*
 * handshake.c -- datagrams from and to where no session is yet.
 *
 *   CONNECT       first byte, opener's id, fingerprint, check, body
 *   MEET          the same, to who opens to us, too: rendezvous.c
 *   DATA_OPENING  first byte, opener's id, fingerprint, fields, body, trailer
 *   CONTROL_OPENING   the same, with the byte of the kind before the fields
 *   REPLY         first byte, opener's id, check, type, body
 *   ASK, RESET    see doubt.c and reset.c
 *
 * A listener keeps no state for any of them until the plan's admission accepts. It builds only what
 * is on its own list; a composition that is not is refused with the difference, in a reply smaller
 * than the request.  `check` is a hash of all that follows it, under the fingerprint and the
 * opener's id: against accidents, not against forgers.  A reply has only 2 bytes of it, so that an
 * answer is smaller than any opening.
 */
#include <string.h>

#include "wire/handshake.h"
#include "engine/segment.h"
#include "engine/timer.h"
#include "engine/turn.h"
#include "session/session.h"
#include "wire/demux.h"
#include "wire/doubt.h"
#include "wire/extensions.h"
#include "wire/refusal.h"
#include "wire/rendezvous.h"
#include "wire/request.h"
#include "wire/reset.h"
#include "wire/train.h"
#include "wire/wire.h"

enum {
	REPLY_REFUSED = 255, /* type of a reply: text follows */
	REPLY_ANSWER = 2,    /* to connectionless data: our session id follows */
	REPLY_KNOWN = 3,     /* to an ask: doubt.c */
	CONNECT_HEAD = 1 + NOPAL_ID_BYTES + NOPAL_FINGERPRINT_BYTES,
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

uint64_t nopal_request_mac(const struct nopal_request *request, uint64_t epoch, uint64_t extra)
{
	const struct request_context *context = request->context;
	uint8_t bytes[64];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

	nopal_write_bytes(&writer, context->from->ip, sizeof(context->from->ip));
	nopal_write(&writer, context->from->port, 2);
	nopal_write(&writer, request->peer_id, NOPAL_ID_BYTES);
	nopal_write(&writer, request->fingerprint, NOPAL_FINGERPRINT_BYTES);
	nopal_write(&writer, epoch, sizeof(epoch));
	nopal_write(&writer, extra, sizeof(extra));
	return nopal__siphash(context->endpoint->secret, bytes, nopal_written(&writer));
}

/* ------------------------------------------------------------- what we send */

void nopal__opening_pack(struct nopal_composite *composite, const struct nopal_segment *segment)
{
	uint32_t bytes = CONNECT_HEAD + NOPAL_CHECK_BYTES + segment->body.length;
	uint8_t *start = nopal__train_room(composite, nopal__first_way(composite), bytes);
	struct nopal_writer writer = nopal_writer_over(start, bytes);

	if (!start)
		return;
	nopal_write(&writer,
		    nopal__first_byte(composite->rendezvous ? NOPAL_KIND_RENDEZVOUS
							    : NOPAL_KIND_CONNECT),
		    1);
	nopal_write(&writer, composite->local_id, NOPAL_ID_BYTES);
	nopal_write(&writer, composite->layer->plan->fingerprint, NOPAL_FINGERPRINT_BYTES);
	nopal_write(&writer,
		    check_of(composite->layer->plan->fingerprint, composite->local_id,
			     segment->body.bytes, segment->body.length),
		    NOPAL_CHECK_BYTES);
	nopal_write_bytes(&writer, segment->body.bytes, segment->body.length);
	nopal__train_add(composite, composite->endpoint, bytes);
}

static void reply_send(struct nopal_endpoint *endpoint, const struct nopal_request *request,
		       uint8_t *bytes, struct nopal_writer *body)
{
	const struct request_context *context = request->context;
	struct nopal_writer writer = nopal_writer_over(bytes, REPLY_HEAD + REPLY_CHECK_BYTES);
	uint32_t length = nopal_written(body);

	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_REPLY), 1);
	nopal_write(&writer, request->peer_id, NOPAL_ID_BYTES);
	nopal_write(&writer,
		    check_of(request->fingerprint, request->peer_id, body->start, length) &
			    UINT16_MAX,
		    REPLY_CHECK_BYTES);
	nopal__endpoint_answer(endpoint, context->from, bytes,
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

/* ------------------------------------------------------- refusing a stranger */

static void write_text(struct nopal_writer *writer, const char *text)
{
	size_t room = (size_t)(writer->end - writer->at), length = strlen(text);

	nopal_write_bytes(writer, text, length < room ? length : room);
}

static void refuse(struct nopal_endpoint *endpoint, struct nopal_request *request)
{
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply;
	const char *name;
	char *theirs, *diff;

	endpoint->port.counters.refused++;
	theirs = nopal__peer_text(&request->body);
	/* data of a stranger do not say what composition they are of */
	diff = theirs && *theirs ? nopal__nearest_diff(endpoint, theirs, &name) : NULL;
	reply = reply_body(request, bytes);
	nopal_write(&reply, REPLY_REFUSED, 1);
	write_text(&reply, "the listener does not run this composition");
	if (diff) {
		write_text(&reply, "; its nearest is ");
		write_text(&reply, name);
		write_text(&reply, " (- only at the listener, + only here):\n");
		write_text(&reply, diff);
	}
	reply_send(endpoint, request, bytes, &reply);
	free(theirs);
	free(diff);
}

static void differ(struct nopal_endpoint *endpoint, struct nopal_request *request,
		   struct nopal_composite *composite)
{
	const char *ours = composite->layer->plan->canonical;
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, bytes);
	char *theirs = nopal__peer_text(&request->body), *text;

	endpoint->port.counters.refused++;
	text = theirs ? nopal__plans_differ(theirs, ours) : NULL;
	nopal_write(&reply, REPLY_REFUSED, 1);
	if (text)
		write_text(&reply, text);
	reply_send(endpoint, request, bytes, &reply);
	free(text);
	nopal__rendezvous_differs(composite, theirs ? nopal__plans_differ(ours, theirs) : NULL,
				  false);
	free(theirs);
}

/* ------------------------------------------------------------- what arrives */

static struct nopal_listener_entry *listener_find(struct nopal_endpoint *endpoint,
						  uint64_t fingerprint)
{
	struct nopal_listener_entry *entry = endpoint->listeners;

	while (entry && entry->plan->fingerprint != fingerprint)
		entry = entry->next;
	return entry;
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

/* A listener's: who opened from here is asked nothing. */
static struct nopal_composite *opening_session(const struct nopal_endpoint *endpoint,
					       const struct nopal_address *from, uint32_t peer_id)
{
	struct nopal_composite *composite = nopal__session_with(endpoint, from, peer_id);

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

/* A session of which nobody has heard yet; NULL: out of memory. */
static struct nopal_composite *session_for(struct nopal_endpoint *endpoint,
					   const struct nopal_listener_entry *entry,
					   const struct nopal_request *request)
{
	const struct request_context *context = request->context;
	struct nopal_composite *bottom = nopal__session_make(endpoint, entry->plan, context->from);

	if (bottom)
		nopal_session_set_peer_id(&bottom->session, request->peer_id);
	return bottom;
}

static void accept_session(struct nopal_endpoint *endpoint,
			   const struct nopal_listener_entry *entry, struct nopal_composite *bottom)
{
	struct nopal_composite *top;

	nopal__demux_know_peer(bottom);
	endpoint->port.counters.accepted++;
	endpoint->half_open++;
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

struct nopal_composite *nopal__accept_at_once(struct nopal_endpoint *endpoint,
					      const struct nopal_listener_entry *entry,
					      const struct nopal_request *request)
{
	struct nopal_composite *composite = session_for(endpoint, entry, request);

	if (composite)
		accept_session(endpoint, entry, composite);
	return composite;
}

static struct nopal_composite *admit(struct nopal_endpoint *endpoint,
				     const struct nopal_listener_entry *entry,
				     struct nopal_request *request)
{
	const struct nopal_part *part = entry->plan->admission;
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, bytes);
	enum nopal_admission_verdict verdict;

	request->extension_bytes =
		nopal__extensions_bytes(&entry->plan->layers[entry->plan->layer_count - 1]);
	verdict = part->microprotocol->admission->admit((struct nopal_at){ .part = part }, request,
							&reply);

	if (verdict == NOPAL_ADMIT_ACCEPT)
		return nopal__accept_at_once(endpoint, entry, request);
	if (verdict == NOPAL_ADMIT_REPLY && !reply.full)
		reply_send(endpoint, request, bytes, &reply);
	return NULL;
}

/* What of the datagram is for microprotocols, as a segment. */
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

/* The session of ours that opens to who asks here, if it gives way. */
static struct nopal_composite *answer_rendezvous(struct nopal_endpoint *endpoint,
						 struct nopal_request *request)
{
	const struct request_context *context = request->context;
	struct nopal_composite *composite = nopal__rendezvous_with(endpoint, context->from);
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, bytes);
	enum nopal_admission_verdict verdict;
	const struct nopal_part *part;

	if (!composite)
		return NULL;
	nopal__touch(composite);
	if (composite->layer->plan->fingerprint != request->fingerprint) {
		differ(endpoint, request, composite);
		return NULL;
	}
	part = composite->layer->plan->admission;
	request->extension_bytes = nopal__extensions_bytes(composite->layer);
	verdict = part->microprotocol->admission->rendezvous(
		(struct nopal_at){ &composite->session, part }, request, &reply);
	if (verdict == NOPAL_ADMIT_REPLY && !reply.full)
		reply_send(endpoint, request, bytes, &reply);
	if (verdict != NOPAL_ADMIT_ACCEPT)
		return NULL;
	nopal__rendezvous_turn(composite, request->peer_id);
	return composite;
}

static struct nopal_composite *admit_stranger(struct nopal_endpoint *endpoint,
					      struct nopal_request *request)
{
	struct nopal_listener_entry *entry = listener_find(endpoint, request->fingerprint);

	if (entry && entry->plan->admission)
		return admit(endpoint, entry, request);
	refuse(endpoint, request);
	return NULL;
}

static void connect_receive(struct nopal_endpoint *endpoint, struct nopal_request *request,
			    struct nopal_buffer *buffer, bool rendezvous)
{
	const struct request_context *context = request->context;
	uint64_t check = nopal_read(&request->body, NOPAL_CHECK_BYTES);
	struct nopal_reader body = request->body;
	struct nopal_composite *composite;

	if (body.bad || check != check_of(request->fingerprint, request->peer_id, body.at,
					  nopal_read_left(&body))) {
		endpoint->port.counters.malformed++;
		return;
	}
	composite = opening_session(endpoint, context->from, request->peer_id);
	if (!composite)
		composite = rendezvous ? answer_rendezvous(endpoint, request)
				       : admit_stranger(endpoint, request);
	if (!composite || composite->life == NOPAL_LIFE_ENDED)
		return;
	nopal__touch(composite);
	if (composite->life != NOPAL_LIFE_ENDED)
		body_arrives(composite, NOPAL_KIND_CONNECT, buffer, body);
}

static void answer(struct nopal_endpoint *endpoint, const struct nopal_request *request,
		   const struct nopal_composite *composite)
{
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, bytes);

	nopal_write(&reply, REPLY_ANSWER, 1);
	nopal_write(&reply, composite->local_id, NOPAL_ID_BYTES);
	if (!reply.full)
		reply_send(endpoint, request, bytes, &reply);
}

/* Who takes the data of a stranger; NULL: nobody, and the stranger was told. */
static struct nopal_listener_entry *listener_without_admission(struct nopal_endpoint *endpoint,
							       const struct nopal_request *request)
{
	struct nopal_listener_entry *entry = listener_find(endpoint, request->fingerprint);
	struct nopal_request whole = *request;

	if (entry && (entry->flags & NOPAL_ALLOW_CONNECTIONLESS) && !entry->plan->admission)
		return entry;
	whole.body.at = whole.body.end;
	refuse(endpoint, &whole);
	return NULL;
}

/* `bytes` from its first byte on; a control kind follows the fingerprint. */
static struct nopal_segment *opening_unpack(struct nopal_composite *composite,
					    struct nopal_buffer *buffer, uint8_t *bytes,
					    uint32_t length, bool control)
{
	uint8_t kind = control ? bytes[OPENING_HEAD] : NOPAL_KIND_DATA;

	struct nopal_segment *segment;

	composite->awake->counters.datagrams_in++;
	composite->awake->counters.datagram_bytes_in += length;
	segment = nopal__unpack(composite, kind, buffer, bytes, length, OPENING_HEAD + control);
	if (segment)
		composite->awake->heard_ns = composite->session.now_ns;
	return segment;
}

/* A stranger's session begins when its first datagram is known to be whole: one that was damaged
 * may name anybody. */
static void opening_receive(struct nopal_endpoint *endpoint, const struct nopal_request *request,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length,
			    bool control)
{
	const struct request_context *context = request->context;
	struct nopal_composite *composite =
		opening_session(endpoint, context->from, request->peer_id);
	struct nopal_listener_entry *entry = NULL;
	struct nopal_segment *segment;

	if (composite) {
		nopal__touch(composite);
	} else {
		entry = listener_without_admission(endpoint, request);
		composite = entry ? session_for(endpoint, entry, request) : NULL;
	}
	if (!composite || composite->life == NOPAL_LIFE_ENDED)
		return;
	segment = opening_unpack(composite, buffer, bytes, length, control);
	if (!segment && entry) {
		endpoint->port.counters.malformed++;
		nopal__session_unmake(composite);
	}
	if (!segment)
		return;
	if (entry)
		accept_session(endpoint, entry, composite);
	if (composite->life == NOPAL_LIFE_ENDED) {
		nopal__segment_free(composite, segment);
		return;
	}
	answer(endpoint, request, composite);
	nopal__segment_arrive(composite, segment);
}

static void ask_receive(struct nopal_endpoint *endpoint, struct nopal_request *request)
{
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer reply = reply_body(request, bytes);

	nopal_write(&reply, REPLY_KNOWN, 1);
	nopal__ask_receive(request, &reply);
	if (reply.full)
		endpoint->port.counters.malformed++;
	else
		reply_send(endpoint, request, bytes, &reply);
}

static bool names_own_kind(struct nopal_reader body)
{
	uint64_t kind = nopal_read(&body, 1);

	return kind >= NOPAL_KIND_FIRST_OWN && kind < NOPAL_KIND_OWN_END;
}

void nopal__opening_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length)
{
	struct request_context context = { endpoint, from };
	struct nopal_request request = nopal__request(&context, bytes, length);
	uint8_t kind;

	nopal__first_byte_parse((uint8_t)nopal_read(&request.body, 1), &kind);
	request.peer_id = (uint32_t)nopal_read(&request.body, NOPAL_ID_BYTES);
	request.fingerprint = nopal_read(&request.body, NOPAL_FINGERPRINT_BYTES);
	if (request.body.bad || request.peer_id == 0 ||
	    (kind == NOPAL_KIND_CONTROL_OPENING && !names_own_kind(request.body))) {
		endpoint->port.counters.malformed++;
		return;
	}
	endpoint->port.counters.requests++;
	if (kind == NOPAL_KIND_ASK)
		ask_receive(endpoint, &request);
	else if (kind == NOPAL_KIND_CONNECT || kind == NOPAL_KIND_RENDEZVOUS)
		connect_receive(endpoint, &request, buffer, kind == NOPAL_KIND_RENDEZVOUS);
	else
		opening_receive(endpoint, &request, buffer, bytes, length,
				kind == NOPAL_KIND_CONTROL_OPENING);
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

	if (body.bad || check != (check_of(composite->layer->plan->fingerprint, composite->local_id,
					   body.at, nopal_read_left(&body)) &
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
