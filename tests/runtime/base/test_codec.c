/* SPDX-License-Identifier: MIT */
/* test_codec -- readers and writers: round trips, limits, canonical form. */
#include <string.h>

#include <nopal/microprotocol.h>
#include "support/test.h"

enum { ROOM = 64, ROUNDS = 20000 };

static uint64_t state = 7;

static uint64_t draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 8 ^ state << 30;
}

TEST(numbers_are_big_endian)
{
	uint8_t bytes[ROOM];
	struct nopal_writer w = nopal_writer_over(bytes, sizeof(bytes));

	nopal_write(&w, 0x010203, 3);
	nopal_write(&w, UINT64_C(0x1122334455667788), 8);
	nopal_write(&w, 0x1234, 1); /* truncated */
	assert_int_equal(nopal_written(&w), 12);
	assert_memory_equal(bytes, "\x01\x02\x03\x11\x22\x33\x44\x55\x66\x77\x88\x34", 12);
	struct nopal_reader r = nopal_reader_over(bytes, 12);
	assert_int_equal(nopal_read(&r, 3), 0x010203);
	assert_true(nopal_read(&r, 8) == UINT64_C(0x1122334455667788));
	assert_int_equal(nopal_read(&r, 1), 0x34);
	assert_true(nopal_read_complete(&r));
}

TEST(random_round_trips)
{
	uint8_t bytes[ROOM];

	for (int i = 0; i < ROUNDS; i++) {
		unsigned length = (unsigned)(draw() % 8) + 1;
		uint64_t wide = draw() >> draw() % 64;
		uint64_t value = draw() & (UINT64_MAX >> (64 - 8 * length));
		struct nopal_writer w = nopal_writer_over(bytes, sizeof(bytes));

		nopal_write_varint(&w, wide);
		nopal_write(&w, value, length);
		nopal_write_bytes(&w, "xyz", 3);
		assert_false(w.full);
		struct nopal_reader r = nopal_reader_over(bytes, nopal_written(&w));
		assert_true(nopal_read_varint(&r) == wide);
		assert_true(nopal_read(&r, length) == value);
		assert_int_equal(nopal_read_left(&r), 3);
		assert_memory_equal(nopal_read_bytes(&r, 3), "xyz", 3);
		assert_true(nopal_read_complete(&r));
	}
}

TEST(varints_have_these_lengths)
{
	uint8_t bytes[ROOM];

	for (unsigned bits = 0; bits <= 64; bits++) {
		uint64_t value = bits ? UINT64_MAX >> (64 - bits) : 0;
		size_t expected = bits ? (bits + 6) / 7 : 1;
		struct nopal_writer w = nopal_writer_over(bytes, expected);

		nopal_write_varint(&w, value);
		assert_false(w.full);
		assert_int_equal(nopal_written(&w), expected);
		w = nopal_writer_over(bytes, expected - 1);
		nopal_write_varint(&w, value);
		assert_true(w.full);
		assert_int_equal(nopal_written(&w), 0);
	}
}

TEST(only_shortest_varints_are_read)
{
	static const struct {
		const char *bytes;
		size_t length;
	} bad[] = {
		{ "", 0 },
		{ "\x80", 1 },
		{ "\x80\x00", 2 },
		{ "\xff\x80\x00", 3 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10 },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 10 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct nopal_reader r =
			nopal_reader_over((const uint8_t *)bad[i].bytes, bad[i].length);

		assert_int_equal(nopal_read_varint(&r), 0);
		assert_true(r.bad);
		assert_false(nopal_read_complete(&r));
	}
}

/* Any bytes that are read as a varint are what writing it gives. */
TEST(a_value_has_one_encoding)
{
	uint8_t bytes[12], again[12];

	for (int i = 0; i < ROUNDS; i++) {
		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (uint8_t)(draw() % 3 ? draw() : 0x80);
		struct nopal_reader r = nopal_reader_over(bytes, sizeof(bytes));
		uint64_t value = nopal_read_varint(&r);

		if (r.bad)
			continue;
		struct nopal_writer w = nopal_writer_over(again, sizeof(again));
		nopal_write_varint(&w, value);
		assert_int_equal(nopal_written(&w), r.at - bytes);
		assert_memory_equal(bytes, again, nopal_written(&w));
	}
}

TEST(an_error_sticks)
{
	uint8_t bytes[4] = { 1, 2, 3, 4 };
	struct nopal_reader r = nopal_reader_over(bytes, 3);
	struct nopal_writer w = nopal_writer_over(bytes, 3);

	assert_int_equal(nopal_read(&r, 4), 0);
	assert_int_equal(nopal_read(&r, 1), 0);
	assert_null(nopal_read_bytes(&r, 1));
	assert_null(nopal_read_bytes(&r, 0));
	assert_int_equal(nopal_read_varint(&r), 0);
	assert_int_equal(nopal_read_left(&r), 0);
	assert_false(nopal_read_complete(&r));
	nopal_write(&w, UINT64_MAX, 4);
	nopal_write(&w, UINT64_MAX, 1);
	nopal_write_bytes(&w, "abc", 1);
	nopal_write_varint(&w, 1);
	assert_true(w.full);
	assert_int_equal(nopal_written(&w), 0);
	assert_int_equal(bytes[0], 1);
}

TEST(odd_lengths_are_errors_not_crashes)
{
	uint8_t bytes[ROOM] = { 0 };
	struct nopal_reader r = nopal_reader_over(bytes, sizeof(bytes));
	struct nopal_reader none = { 0 };
	struct nopal_writer w = nopal_writer_over(bytes, sizeof(bytes));

	assert_int_equal(nopal_read(&r, 9), 0);
	assert_true(r.bad);
	nopal_write(&w, 1, 9);
	assert_true(w.full);
	assert_true(nopal_read_complete(&none));
	nopal_read_bytes(&none, 0);
	assert_false(none.bad);
	nopal_read_bytes(&none, SIZE_MAX);
	assert_true(none.bad);
}
