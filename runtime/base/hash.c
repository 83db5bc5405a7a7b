/* SPDX-License-Identifier: MIT */
/*
 * hash.c -- SipHash-2-4, streaming and in one call.
 *
 * After Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).  The stream uses the
 * published key below: it tells texts apart, it keeps no secret.  What must not be foreseen uses
 * nopal__siphash.
 */
#include <endian.h>
#include <string.h>

#include <nopal/nopal.h>
#include "base/hash.h"

/* Rotations and initial words ("somepseudorandomlygeneratedbytes"): figure 2.1 and section 2 of the
 * paper. */
#define SIP_V0 UINT64_C(0x736f6d6570736575)
#define SIP_V1 UINT64_C(0x646f72616e646f6d)
#define SIP_V2 UINT64_C(0x6c7967656e657261)
#define SIP_V3 UINT64_C(0x7465646279746573)
enum {
	SIP_COMPRESS = 2,
	SIP_FINALIZE = 4,
	SIP_LAST = 0xff,
	SIP_WORD = 8, /* bytes */
};

/* "nopal: a cactus.", little endian. */
static const uint64_t hash_key[2] = { UINT64_C(0x61203a6c61706f6e), UINT64_C(0x2e73757463616320) };

static inline uint64_t hash_rotate(uint64_t word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void hash_rounds(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = hash_rotate(v[1], 13) ^ v[0];
		v[3] = hash_rotate(v[3], 16) ^ v[2];
		v[0] = hash_rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = hash_rotate(v[1], 17) ^ v[2];
		v[3] = hash_rotate(v[3], 21) ^ v[0];
		v[2] = hash_rotate(v[2], 32);
	}
}

static inline void hash_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	hash_rounds(v, SIP_COMPRESS);
	v[0] ^= word;
}

static void hash_start(struct nopal_hash *hash, const uint64_t key[2])
{
	*hash = (struct nopal_hash){
		.v = { key[0] ^ SIP_V0, key[1] ^ SIP_V1, key[0] ^ SIP_V2, key[1] ^ SIP_V3 },
	};
}

static void hash_byte(struct nopal_hash *hash, uint8_t byte)
{
	unsigned place = (unsigned)(hash->length++ % SIP_WORD);

	hash->tail |= (uint64_t)byte << 8 * place;
	if (place == SIP_WORD - 1) {
		hash_word(hash->v, hash->tail);
		hash->tail = 0;
	}
}

void nopal_hash_init(struct nopal_hash *hash)
{
	hash_start(hash, hash_key);
}

void nopal_hash_update(struct nopal_hash *hash, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint64_t word;

	for (; length && hash->length % SIP_WORD; length--)
		hash_byte(hash, *at++);
	for (; length >= SIP_WORD; length -= SIP_WORD, at += SIP_WORD) {
		memcpy(&word, at, sizeof(word));
		hash_word(hash->v, le64toh(word));
		hash->length += SIP_WORD;
	}
	for (; length; length--)
		hash_byte(hash, *at++);
}

uint64_t nopal_hash_final(struct nopal_hash *hash)
{
	uint64_t *v = hash->v;

	hash_word(v, hash->tail | hash->length << 56);
	v[2] ^= SIP_LAST;
	hash_rounds(v, SIP_FINALIZE);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t nopal__siphash(const uint64_t key[2], const void *bytes, size_t length)
{
	struct nopal_hash hash;

	hash_start(&hash, key);
	nopal_hash_update(&hash, bytes, length);
	return nopal_hash_final(&hash);
}
