/* SPDX-License-Identifier: MIT */
/*
 * secret.c -- contents of messages.
 *
 * Block i of message m, 8 bytes, is the pair (m, i) under a Feistel network of four rounds whose
 * round function is SipHash with the trial's key (Luby and Rackoff 1988).  Nobody without the key
 * can tell the block of a message that he has not seen, and who has the key reads the message's
 * number from any whole block of a datagram, wherever headers put it.
 */
#include <string.h>

#include "lab/arena.h"

enum { SECRET_BLOCK = 8, SECRET_ROUNDS = 4, SECRET_HALF_BITS = 32 };

static uint64_t secret_hash(const uint64_t key[2], const void *bytes, size_t length)
{
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, key, 2 * sizeof(*key));
	nopal_hash_update(&hash, bytes, length);
	return nopal_hash_final(&hash);
}

static uint32_t secret_round(const uint64_t key[2], uint32_t round, uint32_t half)
{
	const uint32_t words[] = { round, half };

	return (uint32_t)secret_hash(key, words, sizeof(words));
}

static uint64_t secret_seal(const uint64_t key[2], uint32_t left, uint32_t right)
{
	for (uint32_t round = 0; round < SECRET_ROUNDS; round++) {
		uint32_t next = left ^ secret_round(key, round, right);

		left = right;
		right = next;
	}
	return (uint64_t)left << SECRET_HALF_BITS | right;
}

static void secret_open(const uint64_t key[2], uint64_t block, uint32_t *ret_left,
			uint32_t *ret_right)
{
	uint32_t left = (uint32_t)(block >> SECRET_HALF_BITS), right = (uint32_t)block;

	for (uint32_t round = SECRET_ROUNDS; round-- > 0;) {
		uint32_t before = right ^ secret_round(key, round, left);

		right = left;
		left = before;
	}
	*ret_left = left;
	*ret_right = right;
}

uint64_t secret_seed(const uint64_t secret[2], uint64_t seed, uint64_t which)
{
	const uint64_t words[] = { seed, which };

	return secret_hash(secret, words, sizeof(words));
}

void secret_draw(const uint64_t key[2], uint32_t number, uint8_t *bytes, uint32_t length)
{
	for (uint32_t at = 0, index = 0; at < length; at += SECRET_BLOCK, index++) {
		uint64_t block = secret_seal(key, number, index);

		memcpy(bytes + at, &block, length - at < SECRET_BLOCK ? length - at : SECRET_BLOCK);
	}
}

uint32_t secret_find(const struct lab_trial *trial, const uint8_t *bytes, size_t length,
		     uint32_t *ret_from)
{
	for (size_t at = 0; at + SECRET_BLOCK <= length; at++) {
		uint32_t number, index;
		uint64_t block;

		memcpy(&block, bytes + at, sizeof(block));
		secret_open(trial->arena->key, block, &number, &index);
		if (number && number <= trial->message_count &&
		    (uint64_t)index * SECRET_BLOCK < trial->messages[number - 1].length) {
			*ret_from = index * SECRET_BLOCK;
			return number;
		}
	}
	return 0;
}

/* Does a host deliver this message?  It knows those that it sends itself, and delivers none. */
static bool secret_is(const struct lab_message *message, int host, const uint8_t *bytes,
		      size_t length)
{
	return message->host != host && message->length == length &&
	       (!length || !memcmp(message->bytes, bytes, length));
}

uint32_t secret_match(const struct lab_trial *trial, int host, const uint8_t *bytes, size_t length)
{
	uint32_t from, number = secret_find(trial, bytes,
					    length < SECRET_BLOCK ? length : SECRET_BLOCK, &from);

	if (number)
		return secret_is(&trial->messages[number - 1], host, bytes, length) ? number : 0;
	/* Short ones may be alike: the first that is still to come, or else any. */
	for (uint32_t i = 0; i < trial->message_count && length < SECRET_BLOCK; i++)
		if (secret_is(&trial->messages[i], host, bytes, length)) {
			if (!trial->messages[i].deliveries)
				return i + 1;
			number = i + 1;
		}
	return number;
}
