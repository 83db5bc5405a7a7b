/* SPDX-License-Identifier: MIT */
/*
 * test_file_hash -- the same for any cutting, another for any change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "file/file_hash.h"

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

static uint64_t hash_of(const uint8_t *from, size_t length)
{
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, from, length);
	return file_hash_value(&hash);
}

static void test_cutting_does_not_matter(void **state)
{
	uint64_t whole = hash_of(bytes, BYTES);

	(void)state;
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

static void test_every_bit_matters(void **state)
{
	uint64_t whole = hash_of(bytes, BYTES);

	(void)state;
	for (size_t bit = 0; bit < BYTES * 8; bit += 3) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_true(hash_of(bytes, BYTES) != whole);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void test_length_and_place_matter(void **state)
{
	static const uint8_t zeros[BYTES];

	(void)state;
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
static void test_it_stays_what_it_is(void **state)
{
	(void)state;
	assert_true(hash_of((const uint8_t *)"", 0) == EMPTY_HASH);
	assert_true(hash_of((const uint8_t *)"nopal", 5) == NOPAL_HASH);
}

#define FILLED(test) cmocka_unit_test_setup(test, fill)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		FILLED(test_cutting_does_not_matter),
		FILLED(test_every_bit_matters),
		FILLED(test_length_and_place_matter),
		FILLED(test_it_stays_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
