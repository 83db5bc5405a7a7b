/* SPDX-License-Identifier: MIT */
/*
 * aead_schedule.c -- the keys of aead, by HKDF (RFC 5869) alone.
 */
#include <string.h>

#include "aead_schedule.h"

enum { AEAD_LABEL_ROOM = 16 };

/* Of `key`, for what the label says and, where it is not NULL, for this hash. */
static bool aead_derive(const uint8_t *key, const char *label, const uint8_t *hash,
			uint8_t *ret_bytes, size_t length)
{
	uint8_t info[AEAD_LABEL_ROOM + NOPAL__AEAD_HASH_BYTES] = { 0 };
	struct nopal__aead_bytes all = { info, AEAD_LABEL_ROOM };

	memcpy(info, label, strlen(label));
	if (hash) {
		memcpy(info + AEAD_LABEL_ROOM, hash, NOPAL__AEAD_HASH_BYTES);
		all.length = sizeof(info);
	}
	return nopal__aead_expand(key, all, ret_bytes, length);
}

bool nopal__aead_phase_begin(struct nopal__aead_phase *phase, int cipher, bool seals)
{
	uint8_t key[NOPAL__AEAD_KEY_MAX_BYTES];

	nopal__aead_phase_end(phase);
	if (aead_derive(phase->secret, "key", NULL, key, nopal__aead_key_bytes(cipher)) &&
	    aead_derive(phase->secret, "nonce", NULL, phase->nonce, sizeof(phase->nonce)))
		phase->key = nopal__aead_key_new(cipher, key, seals);
	nopal__aead_forget(key, sizeof(key));
	return phase->key != NULL;
}

void nopal__aead_phase_end(struct nopal__aead_phase *phase)
{
	nopal__aead_key_free(phase->key);
	phase->key = NULL;
}

void nopal__aead_phase_forget(struct nopal__aead_phase *phase)
{
	nopal__aead_phase_end(phase);
	nopal__aead_forget(phase, sizeof(*phase));
}

bool nopal__aead_phase_next(const struct nopal__aead_phase *phase,
			    struct nopal__aead_phase *ret_next)
{
	*ret_next = (struct nopal__aead_phase){ .key = NULL };
	return aead_derive(phase->secret, "update", NULL, ret_next->secret,
			   sizeof(ret_next->secret));
}

bool nopal__aead_early(struct nopal__aead_bytes shared, uint8_t *ret_early)
{
	static const uint8_t none[NOPAL__AEAD_HASH_BYTES];
	static const char label[] = "nopal aead psk";
	const struct nopal__aead_bytes salt = { label, sizeof(label) - 1 };

	if (!shared.length)
		shared = (struct nopal__aead_bytes){ none, sizeof(none) };
	return nopal__aead_extract(salt, shared, ret_early);
}

/* Of one request, whose first pieces are its composition, its opener's id and public key. */
static bool aead_request_key(const uint8_t *early, const char *label,
			     const struct nopal__aead_bytes *pieces, size_t count, uint8_t *ret_key)
{
	uint8_t hash[NOPAL__AEAD_HASH_BYTES];

	return nopal__aead_hash(pieces, count, hash) &&
	       aead_derive(early, label, hash, ret_key, NOPAL__AEAD_HASH_BYTES);
}

bool nopal__aead_answer_key(const uint8_t *early, struct nopal__aead_bytes composition,
			    struct nopal__aead_bytes opener_id, const uint8_t *opener_public,
			    uint8_t *ret_key)
{
	const struct nopal__aead_bytes pieces[] = {
		composition,
		opener_id,
		{ opener_public, NOPAL__AEAD_PUBLIC_BYTES },
	};

	return aead_request_key(early, "answer", pieces, sizeof(pieces) / sizeof(*pieces), ret_key);
}

bool nopal__aead_early_secret(const uint8_t *early, struct nopal__aead_bytes composition,
			      struct nopal__aead_bytes opener_id, const uint8_t *opener_public,
			      struct nopal__aead_bytes context, struct nopal__aead_phase *ret_phase)
{
	const struct nopal__aead_bytes pieces[] = {
		composition,
		opener_id,
		{ opener_public, NOPAL__AEAD_PUBLIC_BYTES },
		context,
	};

	*ret_phase = (struct nopal__aead_phase){ .key = NULL };
	return aead_request_key(early, "early data", pieces, sizeof(pieces) / sizeof(*pieces),
				ret_phase->secret);
}

bool nopal__aead_agree(const uint8_t *early, const uint8_t *exchanged, const uint8_t *transcript,
		       uint8_t *ret_opener, uint8_t *ret_listener)
{
	const struct nopal__aead_bytes salt = { early, NOPAL__AEAD_HASH_BYTES };
	const struct nopal__aead_bytes secret = { exchanged, NOPAL__AEAD_PUBLIC_BYTES };
	uint8_t master[NOPAL__AEAD_HASH_BYTES];
	bool good =
		nopal__aead_extract(salt, secret, master) &&
		aead_derive(master, "opener", transcript, ret_opener, NOPAL__AEAD_HASH_BYTES) &&
		aead_derive(master, "listener", transcript, ret_listener, NOPAL__AEAD_HASH_BYTES);

	nopal__aead_forget(master, sizeof(master));
	return good;
}
