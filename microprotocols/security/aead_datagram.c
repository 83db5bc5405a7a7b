/* SPDX-License-Identifier: MIT */
/*
 * aead_datagram.c -- seals and opens the datagrams of aead, and goes from phase to phase.  An
 * arriving one: too old or seen? no key? does it open? and only then is anything noted.
 */
#include <string.h>

#include "aead.h"

static const int64_t AEAD_OLD_NS = 3 * NOPAL_SECOND; /* for what was overtaken */

static uint32_t aead_turn(uint32_t phase)
{
	return 1 + phase % AEAD_PHASES;
}

/* -------------------------------------------------------------------- phases */

/* The next phase is made ready before it is needed, so that timing does not show the change. */
static bool aead_prepare(struct nopal_at at, struct aead *self)
{
	const struct aead_parameters *set = nopal_parameters(at);
	struct nopal__aead_phase *read = self->secrets->read;
	struct nopal__aead_phase *next = &read[(self->reads + 1) % AEAD_PHASES];

	nopal__aead_phase_forget(next);
	return nopal__aead_phase_next(&read[self->reads % AEAD_PHASES], next) &&
	       nopal__aead_phase_begin(next, (int)set->cipher, false);
}

bool nopal__aead_make_ready(struct nopal_at at, struct aead *self)
{
	const struct aead_parameters *set = nopal_parameters(at);
	struct aead_secrets *secrets = self->secrets;

	secrets->ready = self->agreed &&
			 nopal__aead_phase_begin(&secrets->write, (int)set->cipher, true) &&
			 nopal__aead_phase_begin(&secrets->read[self->reads % AEAD_PHASES],
						 (int)set->cipher, false) &&
			 aead_prepare(at, self);
	return secrets->ready;
}

void nopal__aead_end_keys(struct aead *self)
{
	struct aead_secrets *secrets = self->secrets;

	nopal__aead_phase_end(&secrets->write);
	for (uint32_t i = 0; i < AEAD_PHASES; i++)
		if (i == self->reads % AEAD_PHASES)
			nopal__aead_phase_end(&secrets->read[i]);
		else
			nopal__aead_phase_forget(&secrets->read[i]);
	self->old_until_ns = 0;
	secrets->ready = false;
}

/* Goes on to our next phase where it is time, and the peer can follow. */
static void aead_update(struct nopal_at at, struct aead *self)
{
	const struct aead_parameters *set = nopal_parameters(at);
	struct nopal__aead_phase *write = &self->secrets->write, next;

	if (self->since == AEAD_SEALED_MAX)
		nopal_session_break(at.session, NOPAL_ABORTED,
				    "a key is used up, and the peer has not "
				    "shown that it heard it");
	if (self->since < (uint64_t)set->update || !self->confirmed)
		return;
	if (nopal__aead_phase_next(write, &next) &&
	    nopal__aead_phase_begin(&next, (int)set->cipher, true)) {
		nopal__aead_phase_forget(write);
		*write = next;
		self->writes++;
		self->since = 0;
		self->confirmed = false;
	}
	nopal__aead_forget(&next, sizeof(next));
}

/* ------------------------------------------------------------------- sealing */

static void aead_nonce(const struct nopal__aead_phase *phase, uint64_t counter, uint8_t *ret_nonce)
{
	memcpy(ret_nonce, phase->nonce, NOPAL__AEAD_NONCE_BYTES);
	for (int i = NOPAL__AEAD_NONCE_BYTES - 1; counter; i--, counter >>= 8)
		ret_nonce[i] ^= (uint8_t)counter;
}

/* The bytes that are authenticated and not encrypted: head, and the word behind the body. */
static void aead_clear(const uint8_t *bytes, size_t length, uint8_t *ret_clear)
{
	memcpy(ret_clear, bytes, NOPAL_CLEAR_BYTES);
	memcpy(ret_clear + NOPAL_CLEAR_BYTES, bytes + length, AEAD_WORD_BYTES);
}

static bool aead_seal(struct nopal_at at, uint8_t *bytes, size_t length)
{
	struct aead *self = nopal_state(at);
	const struct nopal__aead_phase *write = &self->secrets->write;
	uint8_t *trailer = bytes + length;
	struct nopal_writer word = nopal_writer_over(trailer, AEAD_WORD_BYTES);
	uint8_t nonce[NOPAL__AEAD_NONCE_BYTES], clear[AEAD_CLEAR_BYTES];

	if ((!self->secrets->ready && !nopal__aead_make_ready(at, self)) ||
	    self->since >= AEAD_SEALED_MAX)
		return false;
	nopal_write(&word,
		    aead_turn(self->writes) << AEAD_PHASE_SHIFT |
			    aead_turn(self->reads) << AEAD_HEARD_SHIFT |
			    (self->written & ((1u << AEAD_COUNTER_BITS) - 1)),
		    AEAD_WORD_BYTES);
	aead_clear(bytes, length, clear);
	aead_nonce(write, self->written, nonce);
	self->since++;
	self->written++; /* used, whatever comes of it */
	return nopal__aead_seal(
		write->key, nonce, (struct nopal__aead_bytes){ clear, sizeof(clear) },
		bytes + NOPAL_CLEAR_BYTES, length - NOPAL_CLEAR_BYTES, trailer + AEAD_WORD_BYTES);
}

/* Over head, body and word, which is 0. */
static bool aead_answer_mac(const struct aead *self, const uint8_t *bytes, size_t length,
			    uint8_t *ret_mac)
{
	const struct nopal__aead_bytes key = { self->secrets->answer, NOPAL__AEAD_HASH_BYTES };
	const struct nopal__aead_bytes all = { bytes, length + AEAD_WORD_BYTES };

	return nopal__aead_mac(key, all, ret_mac);
}

/* A datagram that cannot be sealed leaves empty. */
void nopal__aead_close_datagram(struct nopal_at at, uint8_t *bytes, size_t length)
{
	struct aead *self = nopal_state(at);
	bool answer = bytes[0] == self->answer_byte && !nopal_session_is_opener(at.session);
	uint8_t *trailer = bytes + length;
	uint8_t mac[NOPAL__AEAD_HASH_BYTES];
	bool sealed;

	if (answer) {
		memset(trailer, 0, AEAD_WORD_BYTES);
		sealed = self->agreed && aead_answer_mac(self, bytes, length, mac);
		if (sealed)
			memcpy(trailer + AEAD_WORD_BYTES, mac, NOPAL__AEAD_TAG_BYTES);
	} else {
		sealed = aead_seal(at, bytes, length);
	}
	if (!sealed)
		memset(bytes + NOPAL_CLEAR_BYTES, 0,
		       length - NOPAL_CLEAR_BYTES + AEAD_OVERHEAD_BYTES);
	else if (!answer)
		aead_update(at, self);
}

/* ------------------------------------------------------------------- opening */

/* The phase whose turn it is; NULL: there is none. */
static struct nopal__aead_phase *aead_phase_of(const struct nopal_session *session,
					       const struct aead *self, uint32_t turn)
{
	struct nopal__aead_phase *read = self->secrets->read;

	for (uint32_t ahead = 0; ahead < 2; ahead++)
		if (turn == aead_turn(self->reads + ahead))
			return &read[(self->reads + ahead) % AEAD_PHASES];
	if (session->now_ns > self->old_until_ns || self->reads == 0)
		return NULL;
	return &read[(self->reads - 1) % AEAD_PHASES];
}

static bool aead_forged(struct nopal_at at)
{
	const struct aead_parameters *set = nopal_parameters(at);
	const struct aead *self = nopal_state(at);

	if (++self->secrets->forged == set->forgeries)
		nopal_session_break(at.session, NOPAL_ABORTED, "too many datagrams were forged");
	return false;
}

/* A datagram that has opened is the peer's: only then any state changes, unless the datagram was
 * seen before. */
static bool aead_open_sealed(struct nopal_at at, uint8_t *bytes, size_t length, uint32_t word)
{
	const uint64_t span = UINT64_C(1) << AEAD_COUNTER_BITS;
	struct aead *self = nopal_state(at);
	uint32_t heard = word >> AEAD_HEARD_SHIFT & AEAD_PHASE_MASK;
	uint64_t end = self->seen.end;
	uint64_t counter = end + ((word - end) & (span - 1));
	uint8_t nonce[NOPAL__AEAD_NONCE_BYTES], clear[AEAD_CLEAR_BYTES];
	const struct nopal__aead_phase *read;

	/* The counter is the one nearest to the end of those seen. */
	if (counter - end > span / 2 && counter >= span)
		counter -= span;
	if ((!self->secrets->ready && !nopal__aead_make_ready(at, self)) ||
	    nopal_numbers_test(&self->seen, counter) == NOPAL_NUMBER_SEEN)
		return false;
	read = aead_phase_of(at.session, self, word >> AEAD_PHASE_SHIFT);
	if (!read || !read->key)
		return false;
	aead_clear(bytes, length, clear);
	aead_nonce(read, counter, nonce);
	if (!nopal__aead_open(read->key, nonce, (struct nopal__aead_bytes){ clear, sizeof(clear) },
			      bytes + NOPAL_CLEAR_BYTES, length - NOPAL_CLEAR_BYTES,
			      bytes + length + AEAD_WORD_BYTES))
		return aead_forged(at);
	if (counter >= self->seen.end)
		self->confirmed |= heard == aead_turn(self->writes);
	if (counter - self->seen.floor >= AEAD_WINDOW)
		nopal_numbers_skip(&self->seen, counter - AEAD_WINDOW + 1);
	if (nopal_numbers_mark(at.session, &self->seen, counter) != NOPAL_NUMBER_NEW)
		return false;
	if (word >> AEAD_PHASE_SHIFT == aead_turn(self->reads + 1)) {
		/* The peer writes in its next phase. */
		self->reads++;
		self->old_until_ns = at.session->now_ns + AEAD_OLD_NS;
		aead_prepare(at, self);
	}
	return true;
}

/* The answer comes again until the opener has confirmed it. */
bool nopal__aead_open_datagram(struct nopal_at at, uint8_t *bytes, size_t length)
{
	const struct aead *self = nopal_state(at);
	struct nopal_reader reader = nopal_reader_over(bytes + length, AEAD_WORD_BYTES);
	uint32_t word = (uint32_t)nopal_read(&reader, AEAD_WORD_BYTES);
	uint8_t mac[NOPAL__AEAD_HASH_BYTES];

	if (word >> AEAD_PHASE_SHIFT != AEAD_ANSWER_PHASE)
		return aead_open_sealed(at, bytes, length, word);
	if (word != AEAD_ANSWER_PHASE || !nopal_session_is_opener(at.session) ||
	    bytes[0] != self->answer_byte)
		return false;
	return (aead_answer_mac(self, bytes, length, mac) &&
		nopal__aead_same(mac, bytes + length + AEAD_WORD_BYTES, NOPAL__AEAD_TAG_BYTES)) ||
	       aead_forged(at);
}
