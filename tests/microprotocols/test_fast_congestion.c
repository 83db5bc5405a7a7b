/* SPDX-License-Identifier: MIT */
/* test_fast_congestion -- it goes to where alpha is queued, and stays there. */
#include "support/bench.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_fast_congestion;
#define POLICY nopal_fast_congestion

static int64_t kept(int64_t window)
{
	return window / 2;
}

enum { KEPT_WITHIN = 2 };
#include "window_policies.h"

enum { ALPHA = 20 * BENCH_BODY };

static void open_fast(int64_t initial)
{
	avoid(initial);
	assert_int_equal(*bench_parameter("alpha"), ALPHA);
}

/* A path that holds so much: the rest of a window lies in its queue. */
static void set_path(int64_t held)
{
	int64_t rtt = RTT;

	if (window() > held)
		rtt = RTT * window() / held;
	*bench_shared("smoothed_rtt_ns") = rtt;
}

TEST(test_half_of_the_way_in_a_window)
{
	open_fast(100 * SEG);
	ack(99 * SEG);
	assert_int_equal(window(), 100 * SEG);
	/* Nothing is queued: half of alpha. */
	ack(SEG);
	assert_int_equal(window(), 110 * SEG);
	/* 60 are. */
	*bench_shared("smoothed_rtt_ns") = RTT * 110 / 50;
	ack(110 * SEG);
	assert_in_range(window(), 90 * SEG - 1, 90 * SEG);
	bench_close();
}

TEST(test_rests_where_alpha_is_queued)
{
	for (int64_t from = 10; from < 1000; from *= 3) {
		open_fast(from * SEG);
		for (int i = 0; i < 200; i++) {
			set_path(200 * SEG);
			ack(window());
		}
		assert_in_range(window(), 219 * SEG, 221 * SEG);
		bench_close();
	}
}

TEST(test_never_more_than_the_double)
{
	open_fast(4 * SEG);
	ack(4 * SEG);
	assert_int_equal(window(), 8 * SEG);
	ack(8 * SEG);
	assert_int_equal(window(), 16 * SEG);
	ack(16 * SEG);
	assert_int_equal(window(), 26 * SEG);
	bench_close();
}

TEST(test_a_queue_ends_slow_start)
{
	begin(10 * SEG);
	bench_begin();
	for (int i = 0; i < 10; i++) {
		set_path(60 * SEG);
		ack(window());
	}
	assert_in_range(*bench_shared("slow_start_threshold_bytes"), 80 * SEG, 160 * SEG);
	assert_in_range(window(), 79 * SEG, 83 * SEG);
	bench_close();
}

TEST(test_keeps_alpha_in_the_queue_of_a_path)
{
	const int64_t each_ns = 8 * SEG * NOPAL_SECOND / (20 * MBIT);

	begin(10 * SEG);
	path_share("smoothed_rtt_ns", 0);
	path_share("minimum_rtt_ns", 0);
	bench_begin();
	path_begin(20 * MBIT, 30 * NOPAL_MILLISECOND, 150, 0);
	path_run(10 * NOPAL_SECOND);
	path.queue_sum_ns = 0;
	path.transmissions = 0;
	assert_in_range(path_percent(30 * NOPAL_SECOND), 98, 101);
	assert_in_range(path_mean_queue_ns(), 15 * each_ns, 25 * each_ns);
	assert_int_equal(path.overflowed, 0);
	path_end();
}
