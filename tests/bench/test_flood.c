/* SPDX-License-Identifier: MIT */
/*
 * flood.c: a receiver counts bytes in their places, and no others.
 */
#include <stdlib.h>

#include "flood.c"
#include "support/test.h"

static uint8_t *walk;

static int set_up(void **state)
{
	(void)state;
	walk = flood_walk();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(walk);
	return 0;
}

ALL_TESTS(tests, set_up, tear_down);

/* Whatever the pieces that a stream comes in. */
TEST(test_a_stream_may_come_in_any_pieces)
{
	static const size_t pieces[] = { 1, 7, 1399, 1400, 1401, 65536, 131072 };
	struct flood flood = { 0 };
	size_t at = 0;

	for (int i = 0; i < 500; i++) {
		size_t length = pieces[(size_t)i % 7];

		flood_stream(&flood, walk + at, length);
		at += length;
	}
	assert_int_equal(flood.wrong, 0);
	assert_int_equal(flood.delivered, at);
}

TEST(test_a_stream_wraps_at_the_walks_end)
{
	struct flood flood = { 0 };
	uint64_t sent = 0;

	while (sent < FLOOD_WALK + FLOOD_WRITE) {
		struct flood sender = { .place = sent % FLOOD_WALK };
		size_t length;
		const uint8_t *next = flood_next(&sender, walk, FLOOD_WRITE, &length);

		flood_stream(&flood, next, length);
		sent += length;
	}
	assert_int_equal(flood.wrong, 0);
	assert_int_equal(flood.delivered, sent);
}

TEST(test_a_gap_in_a_stream_is_seen)
{
	struct flood flood = { 0 };

	flood_stream(&flood, walk, FLOOD_PAYLOAD);
	flood_stream(&flood, walk + 2 * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	assert_int_equal(flood.delivered, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, FLOOD_PAYLOAD);
}

TEST(test_what_comes_twice_is_seen)
{
	struct flood flood = { 0 };

	flood_stream(&flood, walk, FLOOD_PAYLOAD);
	flood_stream(&flood, walk, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, FLOOD_PAYLOAD);
}

/* The first unit is one of those that are checked in full. */
TEST(test_a_single_damaged_byte_is_seen_in_a_sample)
{
	struct flood flood = { 0 };

	walk[FLOOD_PAYLOAD / 2] ^= 1;
	flood_stream(&flood, walk, 2 * FLOOD_PAYLOAD);
	walk[FLOOD_PAYLOAD / 2] ^= 1;
	assert_int_equal(flood.wrong, FLOOD_PAYLOAD);
	assert_int_equal(flood.delivered, FLOOD_PAYLOAD);
}

TEST(test_datagrams_may_come_in_any_order)
{
	struct flood flood = { 0 };

	for (size_t i = 100; i-- > 0;)
		flood_datagram(&flood, walk + i * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	flood_datagram(&flood, walk + FLOOD_WALK - FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, 0);
	assert_int_equal(flood.delivered, 101 * FLOOD_PAYLOAD);
}

TEST(test_noise_is_no_datagram)
{
	uint8_t noise[FLOOD_PAYLOAD];
	struct flood flood = { 0 };

	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * i + 1);
	flood_datagram(&flood, noise, sizeof(noise));
	flood_datagram(&flood, noise, 1);
	assert_int_equal(flood.delivered, 0);
	assert_int_equal(flood.wrong, sizeof(noise) + 1);
}

/* After one at an odd place the rest of a message follows as a stream. */
TEST(test_a_datagram_sets_the_place)
{
	struct flood flood = { 0 };

	flood_datagram(&flood, walk + 8 * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	flood_stream(&flood, walk + 9 * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, 0);
}

/* Connections are streams of their own, and the report has all of them. */
TEST(test_connections_are_added_up)
{
	struct flood lanes[4] = { 0 };
	struct flood flood = { .connections = 4, .lanes = lanes }, sum;
	double fairness;

	for (int i = 0; i < 4; i++)
		flood_stream(flood_lane(&flood, i), walk,
			     i < 2 ? FLOOD_PAYLOAD : 2 * FLOOD_PAYLOAD);
	flood_stream(flood_lane(&flood, 3), walk, FLOOD_PAYLOAD);
	sum = flood_sum(&flood, &fairness);
	assert_int_equal(sum.delivered, 6 * FLOOD_PAYLOAD);
	assert_int_equal(sum.wrong, FLOOD_PAYLOAD); /* it came twice */
	assert_float_equal(fairness, 36.0 / (4 * 10), 1e-9);
	flood.connections = 1;
	flood.lanes = NULL;
	assert_ptr_equal(flood_lane(&flood, 0), &flood);
	flood_sum(&flood, &fairness);
	assert_float_equal(fairness, 1, 0);
}

/* The rest of a piece is the next one's begin. */
TEST(test_a_piece_may_be_taken_in_part)
{
	struct flood sender = { .place = FLOOD_WALK - 100 }, flood = sender;
	size_t length;
	const uint8_t *next = flood_peek(&sender, walk, FLOOD_WRITE, &length);

	assert_int_equal(length, 100);
	flood_stream(&flood, next, 40);
	flood_gone(&sender, 40);
	next = flood_peek(&sender, walk, FLOOD_WRITE, &length);
	assert_int_equal(length, 60);
	flood_stream(&flood, next, length);
	flood_gone(&sender, length);
	assert_int_equal(sender.place, 0);
	assert_int_equal(flood.delivered, 100);
	assert_int_equal(flood.wrong, 0);
}
