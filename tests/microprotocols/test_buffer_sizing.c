/* SPDX-License-Identifier: MIT */
/* test_buffer_sizing -- what the limit follows, one acknowledgement after the other. Whole
 * transfers are in test_buffer_limits. */
#include "support/bench.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_buffer_sizing;

enum { KIB = 1024, MIN = 64 * KIB, TRIP = 1000000 /* bytes */ };

static void begin(int64_t known_window)
{
	bench_place(&nopal_buffer_sizing);
	*bench_parameter("factor") = 2;
	*bench_parameter("least") = MIN;
	*bench_parameter("idle") = NOPAL_SECOND;
	*bench_shared("known_window_bytes") = known_window;
	bench_begin();
	bench.next_packet = 1;
	bench_raise(NOPAL_OPEN_SESSION, NULL);
}

static int set_up(void **state)
{
	(void)state;
	begin(0);
	return 0;
}

EACH_TEST(set_up, bench_tear_down);

static void send(uint64_t bytes)
{
	struct nopal_message *message =
		calloc(1, sizeof(*message) + BENCH_SLOTS * sizeof(uint64_t));

	message->length = bytes;
	bench_raise(NOPAL_MSG_FROM_USER, message);
	bench_raise(NOPAL_MSG_DONE, message);
	free(message);
}

/* All that is out is acknowledged in so many acks, while as much leaves. */
static void trip(int64_t bytes, int acks)
{
	uint64_t first = bench.next_packet;

	bench.next_packet += (uint64_t)acks;
	for (int i = 0; i < acks; i++)
		bench_ack(first + (uint64_t)i, (uint64_t)(bytes / acks));
}

static void trips(int64_t bytes, int count)
{
	for (int i = 0; i < count; i++)
		trip(bytes, 8);
}

TEST(test_begins_with_the_min)
{
	assert_int_equal(bench.send_limit, MIN);
	trips(MIN / 4, 5);
	assert_int_equal(bench.send_limit, MIN);
	bench_pass(100 * NOPAL_SECOND);
	assert_int_equal(bench.send_limit, MIN);
}

TEST(test_begins_with_what_is_known)
{
	bench_close();
	begin(TRIP);
	assert_int_equal(bench.send_limit, 2 * TRIP);
}

TEST(test_is_twice_what_a_round_trip_takes)
{
	trips(TRIP, 5);
	assert_int_equal(bench.send_limit, 2 * TRIP);
	*bench_parameter("factor") = 3;
	trips(2 * TRIP, 5);
	assert_int_equal(bench.send_limit, 3 * 2 * TRIP);
}

/* A window that doubles has the room for that before it does. */
TEST(test_is_ahead_of_a_window_that_grows)
{
	for (int64_t bytes = MIN; bytes < 64 * MIN; bytes *= 2) {
		trip(bytes, 8);
		assert_true((int64_t)bench.send_limit >= 3 * bytes);
	}
	trips(64 * MIN, 3);
	assert_int_equal(bench.send_limit, 2 * 64 * MIN);
}

/* Bytes out as a round trip began, and as it ends. */
TEST(test_acks_in_bursts_are_twice_as_much_at_most)
{
	for (int i = 0; i < 10; i++)
		trip(TRIP, 1);
	assert_int_equal(bench.send_limit, 2 * TRIP);
	for (int i = 0; i < 10; i++)
		trip(TRIP, i % 2 ? 1 : 100);
	assert_in_range(bench.send_limit, 2 * TRIP, 2 * 2 * TRIP);
}

/* A partly acknowledged message counts whole. */
TEST(test_two_messages_more)
{
	trips(TRIP, 5);
	send(5000);
	assert_int_equal(bench.send_limit, 2 * TRIP + 2 * 5000);
	send(100);
	assert_int_equal(bench.send_limit, 2 * TRIP + 2 * 5000);
	send(70000);
	assert_int_equal(bench.send_limit, 2 * TRIP + 2 * 70000);
}

/* Segments that arrived of messages that wait for a lost one are none that the path takes more time
 * for. */
TEST(test_what_waits_for_a_loss_does_not_count)
{
	struct nopal_message *message =
		calloc(1, sizeof(*message) + BENCH_SLOTS * sizeof(uint64_t));

	trips(TRIP, 5);
	message->length = 5000;
	bench_raise(NOPAL_MSG_FROM_USER, message);
	trips(TRIP, 3);
	assert_int_equal(bench.send_limit, 2 * TRIP + 3 * TRIP);
	bench_raise(NOPAL_MSG_DONE, message);
	assert_int_equal(bench.send_limit, 2 * TRIP + 2 * 5000);
	free(message);
}

TEST(test_halves_while_idle)
{
	uint64_t limit = 2 * TRIP;

	trips(TRIP, 5);
	bench_pass(NOPAL_SECOND); /* in which all that was acknowledged */
	for (; limit > MIN; limit /= 2) {
		assert_int_equal(bench.send_limit, limit);
		bench_pass(NOPAL_SECOND);
	}
	assert_int_equal(bench.send_limit, MIN);
	assert_int_equal(bench.timer[0], NOPAL_NEVER); /* it sleeps */
	trips(TRIP, 5);
	assert_int_equal(bench.send_limit, 2 * TRIP);
}

TEST(test_falls_to_what_is_used)
{
	trips(TRIP, 5);
	bench_pass(NOPAL_SECOND);
	for (int i = 0; i < 50; i++) {
		assert_true(bench.send_limit >= (uint64_t)TRIP * 2 * 3 / 4);
		trips(TRIP * 3 / 4, 3);
		bench_pass(NOPAL_SECOND);
	}
	assert_int_equal(bench.send_limit, TRIP * 2 * 3 / 4);
	for (int i = 0; i < 50; i++) {
		trips(TRIP / 5, 3);
		bench_pass(NOPAL_SECOND);
	}
	assert_int_equal(bench.send_limit, TRIP * 2 / 5);
}

TEST(test_long_messages_are_forgotten)
{
	send(10 * TRIP);
	for (int i = 0; i < 30; i++) {
		trips(TRIP, 2);
		send(1000);
		bench_pass(NOPAL_SECOND);
	}
	assert_int_equal(bench.send_limit, 2 * TRIP + 2 * 1000);
}

/* A long round trip brings no acknowledgement for seconds. */
TEST(test_an_interval_has_round_trips)
{
	*bench_shared("smoothed_rtt_ns") = 3 * NOPAL_SECOND;
	trips(TRIP, 5);
	for (int i = 0; i < 20; i++) {
		bench_pass(3 * NOPAL_SECOND);
		assert_int_equal(bench.send_limit, 2 * TRIP);
		trip(TRIP, 8);
	}
	bench_pass(100 * NOPAL_SECOND);
	assert_int_equal(bench.send_limit, MIN);
}
