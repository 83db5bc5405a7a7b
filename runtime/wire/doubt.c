/* SPDX-License-Identifier: MIT */
/*
 * doubt.c -- does a silent peer still exist, and know the session?
 *
 *   ASK     first byte, asker's id 4, fingerprint 8, id that the peer has 4, nonce 8
 *   REPLY   of type 3: the same id 4, nonce 8, inverted where there is no such session
 *
 * A session that has transmissions under way and hears nothing for a second asks the peer's
 * endpoint whether it knows the session, and goes on asking twice a second. Every endpoint answers,
 * keeps nothing, and says less than it was asked: does it have a session with both ids?  An
 * endpoint that was restarted has not, whether or not its reset key outlived it (reset.c), and the
 * session ends at once.  An answer counts that has the id and the nonce of this silence, from the
 * peer's address, while the silence lasts: an attacker off the path can make none, nor can damage,
 * and a session that hears of the peer itself has nothing to doubt.
 *
 * Messages of the network (ICMP) are hints, since anyone can forge them: refusals end a session
 * when several came, over some time, in silence alone; that a datagram was too long goes to the
 * part that knows the path.
 */
#include <stdio.h>
#include <string.h>

#include "wire/wire.h"
#include "engine/turn.h"
#include "session/session.h"

enum {
	DOUBT_NONCE_BYTES = 8,
	DOUBT_ASK_BYTES =
		1 + NOPAL_ID_BYTES + NOPAL_FINGERPRINT_BYTES + NOPAL_ID_BYTES + DOUBT_NONCE_BYTES,
	DOUBT_REFUSALS = 3,
	DOUBT_TEXT_ROOM = 256,
};
static const int64_t DOUBT_SILENCE_NS = NOPAL_SECOND;
static const int64_t DOUBT_EVERY_NS = 400 * NOPAL_MILLISECOND;
/* Refusals end a session after so much silence, the first of them so long ago. */
static const int64_t DOUBT_REFUSED_NS = 1500 * NOPAL_MILLISECOND;
static const int64_t DOUBT_REFUSED_FOR_NS = 500 * NOPAL_MILLISECOND;
/* An error of our socket is no reason for an end so much later. */
static const int64_t DOUBT_SOCKET_NS = 5 * NOPAL_SECOND;

static int64_t silence_of(const struct nopal_composite *bottom)
{
	return bottom->world->now_ns - bottom->awake->heard_ns;
}

/* Does the peer owe an answer to a transmission? */
static bool is_owed(const struct nopal_composite *bottom)
{
	const struct nopal_transmissions *transmissions = &bottom->awake->transmissions;

	return transmissions->oldest != transmissions->next;
}

int64_t nopal_session_silence(const struct nopal_session *session)
{
	struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));
	bool owed;

	if (!nopal__is_lowest(bottom) || !bottom->awake) /* at rest it waits for nothing */
		return 0;
	owed = is_owed(bottom) || bottom->awake->doubt.nonce ||
	       (bottom->life == NOPAL_LIFE_OPENING && bottom->opener);
	return owed ? nopal_world_now(bottom->world) - bottom->awake->heard_ns : 0;
}

/* ------------------------------------------------------------------- asking */

void nopal_session_doubt(struct nopal_session *session)
{
	struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));
	struct nopal_doubt *doubt;
	struct nopal_writer writer;
	uint8_t *start;

	if (!nopal__is_lowest(bottom) || !nopal__plan_resets(bottom->layer->plan) ||
	    !nopal_session_is_open(&bottom->session) || !nopal__be_awake(bottom))
		return;
	doubt = &bottom->awake->doubt;
	if (doubt->since_ns <= bottom->awake->heard_ns)
		doubt->nonce = 0;
	if (bottom->now_ns - doubt->asked_ns < DOUBT_EVERY_NS)
		return;
	start = nopal__train_room(bottom, nopal__first_way(bottom), DOUBT_ASK_BYTES);
	if (!start)
		return;
	if (!doubt->nonce) {
		nopal_random_bytes(&bottom->session, &doubt->nonce, sizeof(doubt->nonce));
		doubt->since_ns = bottom->now_ns;
	}
	doubt->asked_ns = bottom->now_ns;
	writer = nopal_writer_over(start, DOUBT_ASK_BYTES);
	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_ASK), 1);
	nopal_write(&writer, bottom->local_id, NOPAL_ID_BYTES);
	nopal_write(&writer, bottom->layer->plan->info.fingerprint, NOPAL_FINGERPRINT_BYTES);
	nopal_write(&writer, bottom->peer_id, NOPAL_ID_BYTES);
	nopal_write(&writer, doubt->nonce, DOUBT_NONCE_BYTES);
	nopal__train_add(bottom, bottom->endpoint, DOUBT_ASK_BYTES);
}

void nopal__doubt_look(struct nopal_composite *bottom)
{
	if (silence_of(bottom) < DOUBT_SILENCE_NS)
		bottom->awake->doubt = (struct nopal_doubt){ 0 };
	else if (is_owed(bottom))
		nopal_session_doubt(&bottom->session);
}

void nopal__ask_receive(struct nopal_request *request, struct nopal_writer *reply)
{
	const struct request_context *context = request->context;
	uint32_t id = (uint32_t)nopal_read(&request->body, NOPAL_ID_BYTES);
	uint64_t nonce = nopal_read(&request->body, DOUBT_NONCE_BYTES);
	enum nopal_known known = nopal__demux_knows(context->endpoint, id, request->peer_id);

	/* where it cannot be told, nothing is */
	reply->full |= !nopal_read_complete(&request->body) || known == NOPAL_KNOWN_NOT;
	nopal_write(reply, id, NOPAL_ID_BYTES);
	nopal_write(reply, known == NOPAL_KNOWN ? nonce : ~nonce, DOUBT_NONCE_BYTES);
}

void nopal__doubt_answered(struct nopal_composite *bottom, struct nopal_reader *reader)
{
	const struct nopal_awake *awake = bottom->awake;
	uint64_t id = nopal_read(reader, NOPAL_ID_BYTES);
	uint64_t nonce = nopal_read(reader, DOUBT_NONCE_BYTES);

	if (nopal_read_complete(reader) && id == bottom->peer_id && awake->doubt.nonce &&
	    nonce == ~awake->doubt.nonce && awake->heard_ns < awake->doubt.since_ns)
		nopal__peer_restarted(bottom);
}

/* ------------------------------------------------------- hints of the network */

/* The session whose datagram a hint is about: the hint has its first bytes. */
static struct nopal_composite *hint_session(const struct nopal_endpoint *endpoint,
					    const struct nopal_hint *hint)
{
	struct nopal_composite *composite;
	uint32_t id;
	uint8_t kind;

	if (endpoint->demux != NOPAL_DEMUX_ID)
		return nopal__session_at(endpoint, &hint->to);
	if (hint->head_bytes < sizeof(hint->head) || !nopal__first_byte_parse(hint->head[0], &kind))
		return NULL;
	id = (uint32_t)nopal__get(hint->head + 1, NOPAL_ID_BYTES);
	if (!nopal__is_opening(kind))
		return nopal__session_with(endpoint, &hint->to, id);
	composite = nopal__session_of(endpoint, &hint->to, id);
	return composite && nopal_address_equal(&composite->peer, &hint->to) ? composite : NULL;
}

static void refused(struct nopal_composite *bottom)
{
	struct nopal_doubt *doubt = &bottom->awake->doubt;
	char text[DOUBT_TEXT_ROOM], address[NOPAL_ADDRESS_TEXT];

	if (!bottom->layer->plan->admission || bottom->rendezvous)
		return;
	if (doubt->refused_ns <= bottom->awake->heard_ns) {
		doubt->refused_ns = bottom->now_ns;
		doubt->refusals = 0;
	}
	if (++doubt->refusals < DOUBT_REFUSALS ||
	    bottom->now_ns - doubt->refused_ns < DOUBT_REFUSED_FOR_NS)
		return;
	if (bottom->life == NOPAL_LIFE_OPENING) {
		snprintf(text, sizeof(text), "no endpoint listens at %s",
			 nopal_address_format(&bottom->peer, address));
		nopal__session_end(bottom, NOPAL_UNREACHABLE, text);
	} else if (silence_of(bottom) >= DOUBT_REFUSED_NS) {
		nopal__session_ended_there(bottom, NOPAL_PEER_LOST, "the peer's port is closed");
	}
}

void nopal__endpoint_hint(struct nopal_endpoint *endpoint, const struct nopal_hint *hint)
{
	struct nopal_world *world = endpoint->port.world;
	struct nopal_composite *composite = hint_session(endpoint, hint);

	if (!composite || composite->life == NOPAL_LIFE_ENDED || !nopal__be_awake(composite))
		return;
	world->in_core = true;
	endpoint->port.counters.hints++;
	nopal__touch(composite);
	if (hint->what == NOPAL_HINT_REFUSED)
		refused(composite);
	else
		nopal__path_narrowed(composite, hint->datagram_bytes);
	nopal__turn_end(world, true);
}

/* ------------------------------------------------------------- our own socket */

char *nopal__doubt_text(const struct nopal_composite *bottom, enum nopal_end end, const char *text)
{
	const struct nopal_port *port = &bottom->endpoint->port;
	bool may_be_ours =
		end == NOPAL_UNREACHABLE || end == NOPAL_PEER_LOST || end == NOPAL_GAVE_UP;
	char blame[DOUBT_TEXT_ROOM], address[NOPAL_ADDRESS_TEXT];

	if (!may_be_ours || !nopal__is_lowest(bottom) || !port->send_error ||
	    port->send_error_ns < bottom->awake->heard_ns ||
	    bottom->world->now_ns - port->send_error_ns >= DOUBT_SOCKET_NS)
		return strdup(text ? text : "");
	snprintf(blame, sizeof(blame), "%s: our socket %s could not send: %s", text ? text : "",
		 nopal_address_format(&port->local, address), strerror(port->send_error));
	return strdup(blame);
}
