/* SPDX-License-Identifier: MIT */
/*
 * aead_schedule.h -- the keys of aead, and their derivation.
 *
 *   key that was shared before, or zeros
 *        |
 *      extract ---> early --expand "answer", request---> answer key (HMAC)
 *                     |      |
 *                     |      +---expand "early data", request and context---> secret of the
 *                     |                                  messages in the request, not ratcheted
 *   X25519 ------> extract ---> master --expand direction, transcript---> secret
 *
 *   secret --expand "key", "nonce"---> what seals the datagrams of a phase
 *          --expand "update"---------> the secret of the next phase
 *
 * One way only: a secret that becomes known tells nothing of the phases before it.  Messages in the
 * request are the exception: the key that was shared before is all that they need.
 */
#ifndef NOPAL_AEAD_SCHEDULE_H
#define NOPAL_AEAD_SCHEDULE_H

#include "aead_crypto.h"

/* One direction for a while. */
struct nopal__aead_phase {
	uint8_t secret[NOPAL__AEAD_HASH_BYTES];
	uint8_t nonce[NOPAL__AEAD_NONCE_BYTES];
	void *key; /* NULL: not made ready */
};

/* Makes the phase ready of its secret, again where it was. */
bool nopal__aead_phase_begin(struct nopal__aead_phase *phase, int cipher, bool seals);
/* Gives back what the secret can make again. */
void nopal__aead_phase_end(struct nopal__aead_phase *phase);
void nopal__aead_phase_forget(struct nopal__aead_phase *phase);
/* The phase after it, not ready. */
bool nopal__aead_phase_next(const struct nopal__aead_phase *phase,
			    struct nopal__aead_phase *ret_next);

/* `shared`: of length 0 where there is none. */
bool nopal__aead_early(struct nopal__aead_bytes shared, uint8_t *ret_early);
/* Of the answer to one request, which nobody else made. */
bool nopal__aead_answer_key(const uint8_t *early, struct nopal__aead_bytes composition,
			    struct nopal__aead_bytes opener_id, const uint8_t *opener_public,
			    uint8_t *ret_key);
/* Of the messages in one request, which is one of its kind by the context: a phase that seals once,
 * not ready. */
bool nopal__aead_early_secret(const uint8_t *early, struct nopal__aead_bytes composition,
			      struct nopal__aead_bytes opener_id, const uint8_t *opener_public,
			      struct nopal__aead_bytes context,
			      struct nopal__aead_phase *ret_phase);
/* The secrets of the first phases; `exchanged` is of X25519. */
bool nopal__aead_agree(const uint8_t *early, const uint8_t *exchanged, const uint8_t *transcript,
		       uint8_t *ret_opener, uint8_t *ret_listener);

#endif
