/* SPDX-License-Identifier: MIT */
/*
 * test_file_hash -- the same for any cutting, another for any change.
 */
#include <string.h>

#include "file/file_hash.h"
#include "support/test.h"

enum { BYTES = 5000 };
#define EMPTY_HASH UINT64_C(0xabaacbe4025adaa8)
#define NOPAL_HASH UINT64_C(0x1d292ce91dd2079f)

static uint8_t bytes[BYTES];

static int fill(void **state)
{
	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 257);
	return 0;
}

EACH_TEST(fill, NULL);

static uint64_t hash_of(const uint8_t *from, size_t length)
{
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, from, length);
	return file_hash_value(&hash);
}

TEST(test_cutting_does_not_matter)
{
	uint64_t whole = hash_of(bytes, BYTES);

	for (size_t piece = 1; piece < 1600; piece += 7) {
		struct file_hash hash;

		file_hash_init(&hash);
		for (size_t at = 0; at < BYTES; at += piece) {
			size_t left = BYTES - at;

			file_hash_update(&hash, bytes + at, left < piece ? left : piece);
			file_hash_value(&hash); /* asking changes nothing */
		}
		assert_true(file_hash_value(&hash) == whole);
	}
}

TEST(test_every_bit_matters)
{
	uint64_t whole = hash_of(bytes, BYTES);

	for (size_t bit = 0; bit < BYTES * 8; bit += 3) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_true(hash_of(bytes, BYTES) != whole);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

TEST(test_length_and_place_matter)
{
	static const uint8_t zeros[BYTES];

	for (size_t length = 1; length < BYTES; length += 13)
		assert_true(hash_of(zeros, length) != hash_of(zeros, length - 1));
	for (size_t at = 0; at + 1032 < BYTES; at += 8) {
		uint64_t before = hash_of(bytes, BYTES);
		uint8_t word[8];

		memcpy(word, bytes + at, sizeof(word));
		memcpy(bytes + at, bytes + at + 1024, sizeof(word));
		memcpy(bytes + at + 1024, word, sizeof(word));
		assert_true(hash_of(bytes, BYTES) != before);
	}
}

/* Written down once: files half sent by one build go on with the next. */
TEST(test_it_stays_what_it_is)
{
	assert_true(hash_of((const uint8_t *)"", 0) == EMPTY_HASH);
	assert_true(hash_of((const uint8_t *)"nopal", 5) == NOPAL_HASH);
}
