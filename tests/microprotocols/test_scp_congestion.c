/* SPDX-License-Identifier: MIT */
/* test_scp_congestion -- few bytes queued, alone and against a bottleneck. */
#include "support/bench.h"
#include "support/path.h"
#include "policies.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_scp_congestion;

enum { EXTRA = 3 * BENCH_BODY };
#define RTT (50 * NOPAL_MILLISECOND)

static void begin(int64_t initial)
{
	bench_place(&nopal_scp_congestion);
	*bench_parameter("initial") = initial;
	*bench_parameter("extra") = EXTRA;
	bench_begin();
	*bench_shared("smoothed_rtt_ns") = RTT;
	*bench_shared("minimum_rtt_ns") = RTT;
}

/* A round in which `bytes` arrive within `duration_ns`. */
static void one_round(uint64_t bytes, int64_t duration_ns)
{
	bench.session->now_ns += duration_ns;
	bench.next_packet += bytes / SEG;
	bench.oldest_packet = bench.next_packet;
	bench_ack(bench.next_packet - 1, bytes);
}

static void to_steady(void)
{
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_LOST, 1);
	bench.oldest_packet = 100;
	bench_ack(99, SEG);
}

TEST(test_slow_start_doubles)
{
	begin(4 * SEG);
	one_round(4 * SEG, RTT);
	assert_int_equal(window(), 8 * SEG);
	one_round(8 * SEG, RTT);
	assert_int_equal(window(), 16 * SEG);
	bench_close();
}

TEST(test_a_queue_ends_slow_start)
{
	int64_t before;

	begin(40 * SEG);
	one_round(40 * SEG, RTT);
	/* 80 arrive in twice the least round trip: 40 were queued. */
	one_round(80 * SEG, 2 * RTT);
	before = window();
	one_round(80 * SEG, 2 * RTT);
	assert_true(window() < before);
	assert_int_equal(window(), 40 * SEG + EXTRA);
	bench_close();
}

TEST(test_steady_grows_by_extra_where_there_is_room)
{
	begin(40 * SEG);
	to_steady();
	assert_int_equal(window(), 20 * SEG);
	one_round(20 * SEG, RTT);
	assert_int_equal(window(), 23 * SEG);
	one_round(23 * SEG, RTT);
	assert_int_equal(window(), 26 * SEG);
	bench_close();
}

TEST(test_steady_stays_where_the_path_is_full)
{
	begin(40 * SEG);
	to_steady();
	for (int i = 0; i < 10; i++) {
		one_round((uint64_t)window(), RTT * window() / (20 * SEG));
		if (i > 0)
			assert_in_range(window(), 22 * SEG, 24 * SEG);
	}
	bench_close();
}

TEST(test_an_idle_round_changes_nothing)
{
	begin(40 * SEG);
	to_steady();
	*bench_shared("app_limited") = 1;
	one_round(2 * SEG, RTT);
	assert_int_equal(window(), 20 * SEG);
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
	bench.oldest_packet = 100;
	one_round(SEG, RTT);
	one_round(2 * SEG, RTT);
	assert_int_equal(window(), 4 * SEG);
	bench_close();
}

TEST(test_the_rate_spreads_the_window)
{
	int64_t rate;

	begin(40 * SEG);
	to_steady();
	one_round(20 * SEG, RTT);
	rate = *bench_shared("sending_rate_bps");
	assert_int_equal(rate, window() * 5 / 4 * 8 * NOPAL_SECOND / RTT);
	bench_close();
}

TEST(test_fills_a_path_with_a_short_queue)
{
	bench_place(&nopal_scp_congestion);
	*bench_parameter("initial") = 4 * SEG;
	*bench_parameter("extra") = EXTRA;
	bench_begin();
	path_begin(40000000, 20 * NOPAL_MILLISECOND, 200, 0);
	path_run(2 * NOPAL_SECOND);
	path.queue_sum_ns = 0;
	path.queue_max_ns = 0;
	path.transmissions = 0;
	assert_in_range(path_percent(10 * NOPAL_SECOND), 98, 101);
	/* Three segments are 0.6 ms. */
	assert_in_range(path_mean_queue_ns(), 0, NOPAL_MILLISECOND);
	assert_in_range(path.queue_max_ns, 0, 4 * NOPAL_MILLISECOND);
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
