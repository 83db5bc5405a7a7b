/* SPDX-License-Identifier: MIT */
/*
 * reset.c -- answers of an endpoint to datagrams of sessions that it does not know, without any
 * state.
 *
 *   RESET   first byte, the id that the datagram was for 4, token 16
 *
 * The token is a keyed hash of that id and of both ports and the peer's address: only the owner of
 * the endpoint's reset key can make it, be it after a restart.  While the session opens the peer is
 * told the token's proof, a one-way function of it: the token is the key under which two constants
 * have these hashes.  So an eavesdropper on all of an opening can make no reset of it, and a reset
 * that left for another address or port is good for nothing.
 *
 * A reset is shorter than the datagram that it answers, never answers another reset, and leaves for
 * the first datagram of an arrival alone, so many in a second at most.
 */
#include <errno.h>
#include <string.h>

#include "wire/wire.h"
#include "engine/turn.h"
#include "session/session.h"

enum {
	RESET_BYTES = 1 + NOPAL_ID_BYTES + NOPAL_RESET_TOKEN_BYTES,
	RESET_BURST = 64, /* at once; then one in each RESET_EVERY_NS */
	RESET_TOKEN_WORDS = 2,
	RESET_OF_TOKEN = 0, /* input of a hash, so that no two hashes meet */
	RESET_OF_KEY = 1,
};
static const int64_t RESET_EVERY_NS = NOPAL_MILLISECOND;

/* -------------------------------------------------------------------- keys */

static void words_under(const uint64_t key[2], uint8_t of, uint64_t ret_words[2])
{
	for (uint8_t i = 0; i < 2; i++) {
		const uint8_t bytes[] = { of, i };

		ret_words[i] = nopal__siphash(key, bytes, sizeof(bytes));
	}
}

void nopal__reset_key_draw(struct nopal_endpoint *endpoint)
{
	words_under(endpoint->secret, RESET_OF_KEY, endpoint->reset_key);
	endpoint->resets_left = RESET_BURST;
}

int nopal_endpoint_set_reset_key(struct nopal_endpoint *endpoint, const uint8_t *key)
{
	if (endpoint->port.counters.sessions || endpoint->alias_of)
		return -EBUSY;
	memcpy(endpoint->reset_key, key, sizeof(endpoint->reset_key));
	return 0;
}

/* Of a session with this id of ours and this peer. */
static void token_make(const struct nopal_endpoint *endpoint, const struct nopal_address *peer,
		       uint32_t id, uint64_t ret_token[RESET_TOKEN_WORDS])
{
	uint8_t bytes[64];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

	nopal_write(&writer, RESET_OF_TOKEN, 1);
	nopal_write(&writer, id, NOPAL_ID_BYTES);
	nopal_write_bytes(&writer, peer->ip, sizeof(peer->ip));
	nopal_write(&writer, peer->port, sizeof(peer->port));
	nopal_write(&writer, endpoint->port.local.port, sizeof(peer->port));
	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++) {
		nopal_write(&writer, i, 1);
		ret_token[i] = nopal__siphash(endpoint->reset_key, bytes, nopal_written(&writer));
	}
}

/* As the peer was told, whatever its address is now. */
static void own_proof(const struct nopal_composite *bottom, uint64_t ret_proof[RESET_TOKEN_WORDS])
{
	const struct nopal_paths *paths = bottom->awake->paths;
	uint64_t token[RESET_TOKEN_WORDS];

	token_make(bottom->endpoint, paths ? &paths->opened_with : &bottom->peer, bottom->local_id,
		   token);
	words_under(token, RESET_OF_TOKEN, ret_proof);
}

uint64_t nopal_session_proof(const struct nopal_session *session, uint64_t challenge)
{
	uint64_t key[RESET_TOKEN_WORDS];

	own_proof(nopal__bottom(nopal__composite(session)), key);
	return nopal__siphash(key, &challenge, sizeof(challenge));
}

bool nopal_session_proves(const struct nopal_session *session, uint64_t challenge, uint64_t proof)
{
	const struct nopal_composite *bottom = nopal__bottom(nopal__composite(session));

	return nopal__plan_resets(bottom->layer->plan) &&
	       (nopal__siphash(bottom->awake->reset_proof, &challenge, sizeof(challenge)) ^
		proof) == 0;
}

/* ------------------------------------------------------------- in an opening */

void nopal__proof_write(struct nopal_composite *bottom, struct nopal_writer *writer)
{
	uint64_t proof[RESET_TOKEN_WORDS];

	own_proof(bottom, proof);
	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		nopal_write(writer, proof[i], sizeof(proof[i]));
}

/* The first proof stands. */
bool nopal__proof_read(struct nopal_composite *bottom, struct nopal_reader *reader)
{
	uint64_t proof[RESET_TOKEN_WORDS];

	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		proof[i] = nopal_read(reader, sizeof(proof[i]));
	if (!reader->bad && bottom->life == NOPAL_LIFE_OPENING)
		memcpy(bottom->awake->reset_proof, proof, sizeof(proof));
	return !reader->bad;
}

/* --------------------------------------------------------------------- sent */

void nopal__stray_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			  uint8_t kind, const uint8_t *bytes, uint32_t length)
{
	int64_t now_ns = endpoint->port.world->now_ns;
	int64_t more = (now_ns - endpoint->reset_ns) / RESET_EVERY_NS;
	uint8_t reset[RESET_BYTES];
	struct nopal_writer writer = nopal_writer_over(reset, sizeof(reset));
	uint64_t token[RESET_TOKEN_WORDS];
	uint32_t id;

	if (endpoint->demux != NOPAL_DEMUX_ID || endpoint->alias_of || kind == NOPAL_KIND_REPLY ||
	    kind == NOPAL_KIND_ABORT || kind == NOPAL_KIND_MULTICAST || length <= RESET_BYTES)
		return;
	id = (uint32_t)nopal__get(bytes + 1, NOPAL_ID_BYTES);
	if (id == 0 || nopal__demux_knows(endpoint, id, 0) != NOPAL_UNHEARD_OF)
		return;
	if (more > 0) {
		endpoint->reset_ns = now_ns;
		endpoint->resets_left = more < RESET_BURST - endpoint->resets_left
						? endpoint->resets_left + (int32_t)more
						: RESET_BURST;
	}
	if (!endpoint->resets_left)
		return;
	endpoint->resets_left--;
	if (nopal__farewell_repeat(endpoint, from, id, length))
		return;
	token_make(endpoint, from, id, token);
	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_RESET), 1);
	nopal_write(&writer, id, NOPAL_ID_BYTES);
	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		nopal_write(&writer, token[i], sizeof(token[i]));
	nopal__endpoint_answer(endpoint, from, reset, sizeof(reset));
	endpoint->port.counters.resets++;
}

/* ----------------------------------------------------------------- received */

/* A session that closes, and has the peer's close, ends well. */
void nopal__peer_restarted(struct nopal_composite *bottom)
{
	if (bottom->life == NOPAL_LIFE_CLOSING && bottom->peer_closed)
		nopal_session_closed(&bottom->session);
	else
		nopal__session_ended_there(bottom, NOPAL_PEER_LOST, NOPAL_TEXT_RESTARTED);
}

void nopal__reset_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			  const uint8_t *bytes, uint32_t length)
{
	struct nopal_reader reader = nopal_reader_over(bytes + 1, length - 1);
	uint32_t id = (uint32_t)nopal_read(&reader, NOPAL_ID_BYTES);
	uint64_t token[RESET_TOKEN_WORDS], proof[RESET_TOKEN_WORDS];
	struct nopal_composite *composite;

	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		token[i] = nopal_read(&reader, sizeof(token[i]));
	if (!nopal_read_complete(&reader)) {
		endpoint->port.counters.malformed++;
		return;
	}
	words_under(token, RESET_OF_TOKEN, proof);
	composite = nopal__session_with(endpoint, from, id);
	if (!composite || composite->life == NOPAL_LIFE_ENDED || !nopal__be_awake(composite) ||
	    ((proof[0] ^ composite->awake->reset_proof[0]) |
	     (proof[1] ^ composite->awake->reset_proof[1]))) {
		endpoint->port.counters.unknown_session++;
		return;
	}
	nopal__touch(composite);
	nopal__peer_restarted(composite);
}
