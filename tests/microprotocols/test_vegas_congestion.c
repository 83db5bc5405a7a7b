/* SPDX-License-Identifier: MIT */
/* test_vegas_congestion -- a few segments queued, alone and in simulation. */
#include "support/bench.h"
#include "support/path.h"
#include "policies.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_vegas_congestion;

#define RTT (50 * NOPAL_MILLISECOND)

static void begin(int64_t initial)
{
	bench_place(&nopal_vegas_congestion);
	*bench_parameter("initial") = initial;
	*bench_parameter("alpha") = 2 * SEG;
	*bench_parameter("beta") = 4 * SEG;
	*bench_parameter("gamma") = SEG;
	bench_begin();
	*bench_shared("minimum_rtt_ns") = RTT;
	*bench_shared("latest_rtt_ns") = RTT;
}

/* A round in which a window is acknowledged, in two acks; `queued` segments of it were in a queue.
 * Its first ack ends the round before. */
static void one_round(int64_t queued)
{
	uint64_t first = bench.next_packet, sent = (uint64_t)(window() / SEG);

	*bench_shared("latest_rtt_ns") =
		queued ? RTT * (int64_t)sent / ((int64_t)sent - queued) : RTT;
	bench.next_packet += sent;
	bench.oldest_packet = first + sent / 2;
	bench_ack(bench.oldest_packet - 1, sent / 2 * SEG);
	bench.oldest_packet = bench.next_packet;
	bench_ack(bench.next_packet - 1, (sent - sent / 2) * SEG);
}

static void lose(unsigned event)
{
	bench_status(event, bench.next_packet++);
	bench.oldest_packet = bench.next_packet;
}

/* Out of slow start, with this window. */
static void to_avoidance(int64_t segments)
{
	begin(2 * segments * SEG);
	lose(NOPAL_SEGMENT_LOST);
	bench_ack(bench.next_packet, SEG); /* ends recovery */
	assert_int_equal(window(), segments * SEG);
}

TEST(test_slow_start_doubles_every_other_round)
{
	begin(4 * SEG);
	bench.next_packet = 4;
	bench_ack(3, 4 * SEG);
	assert_int_equal(window(), 8 * SEG);
	bench.next_packet = 12;
	bench_ack(11, 8 * SEG);
	assert_int_equal(window(), 8 * SEG);
	bench.next_packet = 20;
	bench_ack(19, 8 * SEG);
	assert_int_equal(window(), 16 * SEG);
	bench_close();
}

TEST(test_a_queue_ends_slow_start)
{
	begin(4 * SEG);
	while (window() < 64 * SEG)
		one_round(0);
	/* One segment is not more than gamma. */
	while (window() < 128 * SEG)
		one_round(1);
	assert_int_equal(*bench_shared("slow_start_threshold_bytes"), INT64_MAX);
	/* Half of the window is queued: the other half is what the path held. */
	while (window() >= 128 * SEG)
		one_round(64);
	assert_in_range(window(), 64 * SEG, 66 * SEG);
	assert_in_range(*bench_shared("slow_start_threshold_bytes"), 64 * SEG, 66 * SEG);
	bench_close();
}

TEST(test_alpha_and_beta)
{
	/* queued, and what it does to the window */
	static const int64_t rules[][2] = { { 0, 1 }, { 1, 1 }, { 3, 0 }, { 5, -1 }, { 9, -1 } };

	to_avoidance(40);
	one_round(3);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		int64_t before = window();

		one_round(rules[i][0]); /* ends the round before */
		before = window();
		one_round(rules[i][0]);
		assert_int_equal((window() - before) / SEG, rules[i][1]);
	}
	bench_close();
}

TEST(test_a_limited_round_says_nothing)
{
	int64_t before;

	to_avoidance(40);
	one_round(0);
	before = window();
	*bench_shared("app_limited") = 1;
	for (int i = 0; i < 5; i++)
		one_round(0);
	assert_int_equal(window(), before);
	bench_close();
}

TEST(test_one_reduction_an_epoch)
{
	begin(40 * SEG);
	check_one_reduction_an_epoch();
	bench_close();
}

TEST(test_timeout_is_one_segment_and_slow_start)
{
	begin(40 * SEG);
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 1);
	bench_status(NOPAL_SEGMENT_TIMEOUT, 2);
	assert_int_equal(window(), SEG);
	bench.next_packet = 101;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 100);
	assert_int_equal(window(), SEG);
	bench.oldest_packet = 101;
	bench_ack(100, SEG);
	assert_int_equal(window(), 2 * SEG);
	/* up to the half of what it was before the first timeout */
	for (int i = 0; i < 10; i++)
		one_round(0);
	assert_int_equal(*bench_shared("slow_start_threshold_bytes"), 20 * SEG);
	assert_in_range(window(), 20 * SEG, 25 * SEG);
	bench_close();
}

TEST(test_fills_a_path_with_a_small_standing_queue)
{
	bench_place(&nopal_vegas_congestion);
	*bench_parameter("initial") = 10 * SEG;
	*bench_parameter("alpha") = 2 * SEG;
	*bench_parameter("beta") = 4 * SEG;
	*bench_parameter("gamma") = SEG;
	bench_begin();
	path_begin(40000000, 20 * NOPAL_MILLISECOND, 400, 0);
	path_run(4 * NOPAL_SECOND);
	path.queue_sum_ns = 0;
	path.queue_max_ns = 0;
	path.transmissions = 0;
	path.overflowed = 0;
	assert_in_range(path_percent(10 * NOPAL_SECOND), 98, 101);
	/* A segment is 0.2 ms; bursts of our own come on top of four. */
	assert_in_range(path_mean_queue_ns(), 0, 1500 * NOPAL_MICROSECOND);
	assert_in_range(path.queue_max_ns, 0, 4 * NOPAL_MILLISECOND);
	assert_int_equal(path.overflowed, 0);
	path_end();
}

TEST(test_a_mark_counts_as_a_loss)
{
	begin(40 * SEG);
	check_marks_are_losses(20 * SEG, 10 * SEG, 2 * SEG);
	bench_close();
}

TEST(test_a_mark_after_a_timeout_takes_nothing)
{
	begin(40 * SEG);
	check_a_mark_after_a_timeout_takes_nothing();
	bench_close();
}
