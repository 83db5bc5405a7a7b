/* SPDX-License-Identifier: MIT */
/*
 * flood.c: a receiver counts bytes in their places, and no others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "flood.c"

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

/* Whatever the pieces that a stream comes in. */
static void test_a_stream_may_come_in_any_pieces(void **state)
{
	static const size_t pieces[] = { 1, 7, 1399, 1400, 1401, 65536, 131072 };
	struct flood flood = { 0 };
	size_t at = 0;

	(void)state;
	for (int i = 0; i < 500; i++) {
		size_t length = pieces[(size_t)i % 7];

		flood_stream(&flood, walk + at, length);
		at += length;
	}
	assert_int_equal(flood.wrong, 0);
	assert_int_equal(flood.delivered, at);
}

static void test_a_stream_wraps_at_the_walks_end(void **state)
{
	struct flood flood = { 0 };
	uint64_t sent = 0;

	(void)state;
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

static void test_a_gap_in_a_stream_is_seen(void **state)
{
	struct flood flood = { 0 };

	(void)state;
	flood_stream(&flood, walk, FLOOD_PAYLOAD);
	flood_stream(&flood, walk + 2 * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	assert_int_equal(flood.delivered, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, FLOOD_PAYLOAD);
}

static void test_what_comes_twice_is_seen(void **state)
{
	struct flood flood = { 0 };

	(void)state;
	flood_stream(&flood, walk, FLOOD_PAYLOAD);
	flood_stream(&flood, walk, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, FLOOD_PAYLOAD);
}

/* The first unit is one of those that are checked in full. */
static void test_a_single_damaged_byte_is_seen_in_a_sample(void **state)
{
	struct flood flood = { 0 };

	(void)state;
	walk[FLOOD_PAYLOAD / 2] ^= 1;
	flood_stream(&flood, walk, 2 * FLOOD_PAYLOAD);
	walk[FLOOD_PAYLOAD / 2] ^= 1;
	assert_int_equal(flood.wrong, FLOOD_PAYLOAD);
	assert_int_equal(flood.delivered, FLOOD_PAYLOAD);
}

static void test_datagrams_may_come_in_any_order(void **state)
{
	struct flood flood = { 0 };

	(void)state;
	for (size_t i = 100; i-- > 0;)
		flood_datagram(&flood, walk + i * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	flood_datagram(&flood, walk + FLOOD_WALK - FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, 0);
	assert_int_equal(flood.delivered, 101 * FLOOD_PAYLOAD);
}

static void test_noise_is_no_datagram(void **state)
{
	uint8_t noise[FLOOD_PAYLOAD];
	struct flood flood = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)(i * i + 1);
	flood_datagram(&flood, noise, sizeof(noise));
	flood_datagram(&flood, noise, 1);
	assert_int_equal(flood.delivered, 0);
	assert_int_equal(flood.wrong, sizeof(noise) + 1);
}

/* After one at an odd place the rest of a message follows as a stream. */
static void test_a_datagram_sets_the_place(void **state)
{
	struct flood flood = { 0 };

	(void)state;
	flood_datagram(&flood, walk + 8 * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	flood_stream(&flood, walk + 9 * FLOOD_PAYLOAD, FLOOD_PAYLOAD);
	assert_int_equal(flood.wrong, 0);
}

/* Connections are streams of their own, and the report has all of them. */
static void test_connections_are_added_up(void **state)
{
	struct flood lanes[4] = { 0 };
	struct flood flood = { .connections = 4, .lanes = lanes }, sum;
	double fairness;

	(void)state;
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

/* What was not taken of a piece is the next one's begin. */
static void test_a_piece_may_be_taken_in_part(void **state)
{
	struct flood sender = { .place = FLOOD_WALK - 100 }, flood = sender;
	size_t length;
	const uint8_t *next = flood_peek(&sender, walk, FLOOD_WRITE, &length);

	(void)state;
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

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(test_a_stream_may_come_in_any_pieces),
		cmocka_unit_test(test_a_stream_wraps_at_the_walks_end),
		cmocka_unit_test(test_connections_are_added_up),
		cmocka_unit_test(test_a_piece_may_be_taken_in_part),
		cmocka_unit_test(test_a_gap_in_a_stream_is_seen),
		cmocka_unit_test(test_what_comes_twice_is_seen),
		cmocka_unit_test(test_a_single_damaged_byte_is_seen_in_a_sample),
		cmocka_unit_test(test_datagrams_may_come_in_any_order),
		cmocka_unit_test(test_noise_is_no_datagram),
		cmocka_unit_test(test_a_datagram_sets_the_place),
	};

	return cmocka_run_group_tests(all, set_up, tear_down);
}
