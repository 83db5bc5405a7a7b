/* SPDX-License-Identifier: MIT */
/*
 * reset.c -- an endpoint that gets a datagram of a session which it does not know says so, without
 * any state.
 *
 *   RESET   first byte, the id that the datagram was for 4, token 16
 *
 * The token is a keyed hash of that id and of both ports and the peer's address:
 * only who has the endpoint's reset key can make it, be it after a restart.  What the peer is told
 * of it while the session opens is its proof, a one-way function of it: the token is the key under
 * which two constants have these hashes.  So who listens to all of an opening can make no reset of
 * it, and one that left for another address or port is good for nothing.
 *
 * A reset is shorter than what it answers, never answers one, and leaves for the first datagram of
 * an arrival alone, so many in a second at most.
 */
#include <errno.h>
#include <string.h>

#include "wire/reset.h"
#include "base/bytes.h"
#include "engine/turn.h"
#include "session/session.h"
#include "wire/demux.h"
#include "wire/farewell.h"
#include "wire/train.h"
#include "wire/wire.h"

enum {
	RESET_BYTES = 1 + NOPAL_ID_BYTES + NOPAL_RESET_TOKEN_BYTES,
	RESET_BURST = 64, /* at once; then one in each RESET_EVERY_NS */
	RESET_TOKEN_WORDS = 2,
	RESET_OF_TOKEN = 0, /* what is hashed, so that no two hashes meet */
	RESET_OF_KEY = 1,
};
static const int64_t RESET_EVERY_NS = NOPAL_MILLISECOND;

/* -------------------------------------------------------------------- keys */

static uint64_t word_under(const uint64_t key[2], uint8_t what, uint8_t which)
{
	const uint8_t bytes[] = { what, which };

	return nopal__siphash(key, bytes, sizeof(bytes));
}

void nopal__reset_key_draw(struct nopal_endpoint *endpoint)
{
	for (uint8_t i = 0; i < 2; i++)
		endpoint->reset_key[i] = word_under(endpoint->secret, RESET_OF_KEY, i);
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

static void proof_of(const uint64_t token[RESET_TOKEN_WORDS], uint64_t ret_proof[RESET_TOKEN_WORDS])
{
	for (uint8_t i = 0; i < RESET_TOKEN_WORDS; i++)
		ret_proof[i] = word_under(token, RESET_OF_TOKEN, i);
}

/* As it was told, wherever the peer is now. */
static void own_proof(const struct nopal_composite *bottom, uint64_t ret_proof[RESET_TOKEN_WORDS])
{
	const struct nopal_paths *paths = bottom->awake->paths;
	uint64_t token[RESET_TOKEN_WORDS];

	token_make(bottom->endpoint, paths ? &paths->opened_with : &bottom->peer, bottom->local_id,
		   token);
	proof_of(token, ret_proof);
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

/* What was said first stands. */
bool nopal__proof_read(struct nopal_composite *bottom, struct nopal_reader *reader)
{
	uint64_t proof[RESET_TOKEN_WORDS];

	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		proof[i] = nopal_read(reader, sizeof(proof[i]));
	if (!reader->bad && bottom->life == NOPAL_LIFE_OPENING)
		memcpy(bottom->awake->reset_proof, proof, sizeof(proof));
	return !reader->bad;
}

/* --------------------------------------------------------------------- said */

static bool resets_allow(struct nopal_endpoint *endpoint)
{
	int64_t now_ns = endpoint->port.world->now_ns;
	int64_t more = (now_ns - endpoint->reset_ns) / RESET_EVERY_NS;

	if (more > 0) {
		endpoint->reset_ns = now_ns;
		endpoint->resets_left = more < RESET_BURST - endpoint->resets_left
						? endpoint->resets_left + (int32_t)more
						: RESET_BURST;
	}
	if (!endpoint->resets_left)
		return false;
	endpoint->resets_left--;
	return true;
}

static void reset_send(struct nopal_endpoint *endpoint, const struct nopal_address *to, uint32_t id)
{
	uint8_t bytes[RESET_BYTES];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	uint64_t token[RESET_TOKEN_WORDS];

	token_make(endpoint, to, id, token);
	nopal_write(&writer, nopal__first_byte(NOPAL_KIND_RESET), 1);
	nopal_write(&writer, id, NOPAL_ID_BYTES);
	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		nopal_write(&writer, token[i], sizeof(token[i]));
	nopal__endpoint_answer(endpoint, to, bytes, sizeof(bytes));
	endpoint->port.counters.resets++;
}

void nopal__nobody_receive(struct nopal_endpoint *endpoint, const struct nopal_address *from,
			   uint8_t kind, const uint8_t *bytes, uint32_t length)
{
	uint32_t id;

	if (endpoint->demux != NOPAL_DEMUX_ID || endpoint->alias_of || kind == NOPAL_KIND_REPLY ||
	    kind == NOPAL_KIND_ABORT || kind == NOPAL_KIND_MULTICAST)
		return;
	id = (uint32_t)nopal__get(bytes + 1, NOPAL_ID_BYTES);
	if (id == 0 || nopal__demux_knows(endpoint, id, 0) != NOPAL_UNHEARD_OF ||
	    length <= RESET_BYTES || !resets_allow(endpoint))
		return;
	if (!nopal__farewell_repeat(endpoint, from, id, length))
		reset_send(endpoint, from, id);
}

/* -------------------------------------------------------------------- heard */

static bool proves(const uint64_t token[RESET_TOKEN_WORDS], const struct nopal_composite *bottom)
{
	uint64_t proof[RESET_TOKEN_WORDS], differs = 0;

	proof_of(token, proof);
	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		differs |= proof[i] ^ bottom->awake->reset_proof[i];
	return differs == 0;
}

/* One that closes, and has the peer's close, has all that it wants. */
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
	uint64_t token[RESET_TOKEN_WORDS];
	struct nopal_composite *composite;

	for (unsigned i = 0; i < RESET_TOKEN_WORDS; i++)
		token[i] = nopal_read(&reader, sizeof(token[i]));
	if (!nopal_read_complete(&reader)) {
		endpoint->port.counters.malformed++;
		return;
	}
	composite = nopal__session_with(endpoint, from, id);
	if (!composite || composite->life == NOPAL_LIFE_ENDED || !nopal__be_awake(composite) ||
	    !proves(token, composite)) {
		endpoint->port.counters.unknown_session++;
		return;
	}
	nopal__touch(composite);
	nopal__peer_restarted(composite);
}
