/* SPDX-License-Identifier: MIT */
/*
 * file_hash.c -- the hash of a file's bytes, as fast as they can be read.
 *
 * Words are little endian on every machine.  The last block is filled with zeros, and the length
 * goes in at the end.
 */
#include <endian.h>
#include <string.h>

#include "file/file_hash.h"

enum {
	FILE_HASH_WORDS = FILE_HASH_BLOCK_BYTES / (int)sizeof(uint64_t),
	FILE_HASH_HALF_BITS = 64,
};
/* Keys are the multiples of 2^64 / golden ratio, rounded to odd (Knuth, volume 3, section 6.4): far
 * from each other, and nothing up a sleeve. */
#define FILE_HASH_KEY UINT64_C(0x9e3779b97f4a7c15)

__extension__ typedef unsigned __int128 file_hash_sum;

static inline uint64_t file_hash_word(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

/* NH: the sum of products of keyed pairs; two sums, so that they overlap. */
static void file_hash_block(struct nopal_hash *sums, const uint8_t *bytes)
{
	file_hash_sum even = 0, odd = 0;
	uint64_t key = FILE_HASH_KEY, halves[2];

	for (unsigned i = 0; i < FILE_HASH_WORDS; i += 4) {
		const uint8_t *at = bytes + i * sizeof(uint64_t);

		even += (file_hash_sum)(file_hash_word(at) + key) *
			(file_hash_word(at + 8) + 2 * key);
		odd += (file_hash_sum)(file_hash_word(at + 16) + 3 * key) *
		       (file_hash_word(at + 24) + 4 * key);
		key += 4 * FILE_HASH_KEY;
	}
	even += odd;
	halves[0] = htole64((uint64_t)even);
	halves[1] = htole64((uint64_t)(even >> FILE_HASH_HALF_BITS));
	nopal_hash_update(sums, halves, sizeof(halves));
}

void file_hash_init(struct file_hash *hash)
{
	hash->length = 0;
	nopal_hash_init(&hash->sums);
}

void file_hash_update(struct file_hash *hash, const void *bytes, size_t length)
{
	size_t begun = (size_t)(hash->length % FILE_HASH_BLOCK_BYTES);
	const uint8_t *at = bytes;

	hash->length += length;
	if (begun > 0) {
		size_t room = FILE_HASH_BLOCK_BYTES - begun;
		size_t some = length < room ? length : room;

		memcpy(hash->tail + begun, at, some);
		at += some;
		length -= some;
		if (some < room)
			return;
		file_hash_block(&hash->sums, hash->tail);
	}
	for (; length >= FILE_HASH_BLOCK_BYTES; length -= FILE_HASH_BLOCK_BYTES) {
		file_hash_block(&hash->sums, at);
		at += FILE_HASH_BLOCK_BYTES;
	}
	if (length > 0)
		memcpy(hash->tail, at, length);
}

uint64_t file_hash_value(const struct file_hash *hash)
{
	size_t begun = (size_t)(hash->length % FILE_HASH_BLOCK_BYTES);
	uint8_t last[FILE_HASH_BLOCK_BYTES] = { 0 };
	struct nopal_hash sums = hash->sums;
	uint64_t length = htole64(hash->length);

	if (begun > 0) {
		memcpy(last, hash->tail, begun);
		file_hash_block(&sums, last);
	}
	nopal_hash_update(&sums, &length, sizeof(length));
	return nopal_hash_final(&sums);
}
