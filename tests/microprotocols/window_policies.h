/* SPDX-License-Identifier: MIT */
/*
 * window_policies.h -- what every policy does that window_rules.h carries.
 *
 * The test gives, before it includes this,
 *     POLICY                        the descriptor
 *     int64_t kept(int64_t window)  what a loss leaves, in bytes
 *     KEPT_WITHIN                   by so many bytes
 */
#ifndef NOPAL_TEST_WINDOW_POLICIES_H
#define NOPAL_TEST_WINDOW_POLICIES_H

#include "support/path.h"
#include "policies.h"
#include "support/test.h"

enum { MBIT = 1000000 };
#define RTT (100 * NOPAL_MILLISECOND)

/* Parameters are segments, all of them. */
static inline void begin(int64_t initial)
{
	bench_place(&POLICY);
	for (const struct nopal_parameter *at = POLICY.parameters; at->name; at++)
		*bench_parameter(at->name) = strtoll(at->initial, NULL, 10) * SEG;
	*bench_parameter("initial") = initial;
	path_share("smoothed_rtt_ns", RTT);
	path_share("minimum_rtt_ns", RTT);
}

static inline void start(int64_t initial)
{
	begin(initial);
	bench_begin();
}

/* Beyond slow start. */
static inline void avoid(int64_t initial)
{
	start(initial);
	*bench_shared("slow_start_threshold_bytes") = SEG;
}

static inline void ack(int64_t bytes)
{
	bench.next_packet += (uint64_t)bytes / SEG;
	bench.oldest_packet = bench.next_packet;
	bench_ack(bench.next_packet - 1, (uint64_t)bytes);
}

/* A window of acknowledgements, each of two segments. */
static inline void one_round(void)
{
	for (int64_t left = window(); left > 0; left -= 2 * SEG)
		ack(left < 2 * SEG ? left : 2 * SEG);
}

static inline void lose(void)
{
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	bench.oldest_packet = bench.next_packet;
	ack(SEG);
}

static inline int64_t percent_of_a_path(uint32_t loss_ppm)
{
	int64_t percent;

	begin(10 * SEG);
	if (path_has("minimum_rtt_ns")) {
		path_share("smoothed_rtt_ns", 0);
		path_share("minimum_rtt_ns", 0);
	}
	bench_begin();
	path_begin(20 * MBIT, 30 * NOPAL_MILLISECOND, 150, loss_ppm);
	path_run(10 * NOPAL_SECOND);
	percent = path_percent(30 * NOPAL_SECOND);
	return percent;
}

/* For policies whose windows grow fast enough to do so. */
static inline void check_fills_a_path(void)
{
	assert_in_range(percent_of_a_path(0), 97, 101);
	path_end();
}

static inline void assert_kept(int64_t found, int64_t expected)
{
	assert_in_range(found, expected - KEPT_WITHIN, expected + KEPT_WITHIN);
}

TEST(test_slow_start_doubles)
{
	start(10 * SEG);
	ack(10 * SEG);
	assert_int_equal(window(), 20 * SEG);
	ack(20 * SEG);
	assert_int_equal(window(), 40 * SEG);
	bench_close();
}

TEST(test_slow_start_ends_at_the_threshold)
{
	int64_t threshold;

	start(100 * SEG);
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 1);
	bench.oldest_packet = 100;
	threshold = *bench_shared("slow_start_threshold_bytes");
	bench_ack(99, (uint64_t)(threshold - 2 * SEG));
	assert_int_equal(window(), threshold - SEG);
	bench_ack(99, 3 * SEG);
	assert_in_range(window(), threshold, threshold + SEG);
	bench_close();
}

TEST(test_one_reduction_an_epoch)
{
	avoid(400 * SEG);
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_LOST, 1);
	bench_status(NOPAL_SEGMENT_LOST, 99);
	assert_kept(window(), kept(400 * SEG));
	assert_int_equal(*bench_shared("slow_start_threshold_bytes"), window());
	bench_status(NOPAL_SEGMENT_LOST, 100);
	assert_kept(window(), kept(kept(400 * SEG)));
	for (int i = 0; i < 100; i++)
		bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	assert_int_equal(window(), 2 * SEG);
	bench_close();
}

TEST(test_no_growth_until_all_is_resolved)
{
	int64_t then;

	avoid(400 * SEG);
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_LOST, 1);
	then = window();
	bench.oldest_packet = 99;
	bench_ack(98, 1000 * SEG);
	assert_int_equal(window(), then);
	bench.oldest_packet = 100;
	bench_ack(99, SEG);
	assert_int_equal(window(), then);
	for (int i = 0; i < 10; i++)
		bench_ack(99, 400 * SEG);
	assert_int_not_equal(window(), then);
	bench_close();
}

TEST(test_what_the_application_limits_does_not_grow)
{
	start(10 * SEG);
	*bench_shared("app_limited") = 1;
	ack(10 * SEG);
	assert_int_equal(window(), 10 * SEG);
	*bench_shared("slow_start_threshold_bytes") = SEG;
	for (int i = 0; i < 100; i++)
		ack(10 * SEG);
	assert_int_equal(window(), 10 * SEG);
	bench_close();
}

TEST(test_a_mark_counts_as_a_loss)
{
	int64_t once, twice;

	avoid(400 * SEG);
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	once = window();
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	twice = window();
	bench_close();
	avoid(400 * SEG);
	check_marks_are_losses(once, twice, 2 * SEG);
	bench_close();
}

TEST(test_a_mark_after_a_timeout_takes_nothing)
{
	start(40 * SEG);
	check_a_mark_after_a_timeout_takes_nothing();
	bench_close();
}

TEST(test_a_timeout_leaves_one_segment)
{
	int64_t threshold;

	start(40 * SEG);
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 1);
	bench_status(NOPAL_SEGMENT_TIMEOUT, 2);
	assert_int_equal(window(), SEG);
	threshold = *bench_shared("slow_start_threshold_bytes");
	assert_kept(threshold, kept(40 * SEG));
	/* A second timeout learns nothing. */
	bench.next_packet = 200;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 150);
	assert_int_equal(window(), SEG);
	assert_int_equal(*bench_shared("slow_start_threshold_bytes"), threshold);
	bench.oldest_packet = 200;
	bench_ack(199, SEG);
	bench_ack(199, 2 * SEG);
	bench_ack(199, 4 * SEG);
	assert_int_equal(window(), 8 * SEG);
	bench_close();
}

#endif
