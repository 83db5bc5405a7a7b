/* SPDX-License-Identifier: MIT */
/* test_westwood_congestion -- what a loss leaves is what the path was carrying. */
#include "support/bench.h"
#include "support/path.h"
#include "policies.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_westwood_congestion;
extern const struct nopal_microprotocol nopal_tcp_congestion;

enum { PERCENT = 10000, MBIT = 1000000 };
#define RTT (100 * NOPAL_MILLISECOND)

static void begin(int64_t initial)
{
	bench_place(&nopal_westwood_congestion);
	*bench_parameter("initial") = initial;
	bench_begin();
	*bench_shared("smoothed_rtt_ns") = RTT;
	*bench_shared("minimum_rtt_ns") = RTT;
}

/* A round trip in which so many segments arrive. */
static void one_round(uint64_t segments)
{
	bench.session->now_ns += RTT;
	bench.next_packet += segments;
	bench.oldest_packet = bench.next_packet;
	bench_ack(bench.next_packet - 1, segments * SEG);
}

static void lose(void)
{
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
}

TEST(test_a_loss_leaves_what_the_path_carried)
{
	begin(100 * SEG);
	*bench_shared("slow_start_threshold_bytes") = SEG; /* avoidance */
	for (int i = 0; i < 100; i++)
		one_round(50);
	assert_true(window() > 110 * SEG);
	lose();
	assert_in_range(window(), 49 * SEG, 50 * SEG);
	assert_int_equal(*bench_shared("slow_start_threshold_bytes"), window());
	bench_close();
}

/* Westwood+: seven parts of the estimate, one of the sample. */
TEST(test_the_filter)
{
	double expected = 80;

	begin(1000 * SEG);
	*bench_shared("slow_start_threshold_bytes") = SEG;
	*bench_shared("app_limited") = 1;
	one_round(80); /* the first is the estimate */
	*bench_shared("app_limited") = 0;
	for (int i = 0; i < 10; i++) {
		one_round(40);
		expected += (40 - expected) / 8;
	}
	lose();
	assert_in_range(window(), (int64_t)(expected * SEG) - 100, (int64_t)(expected * SEG) + 100);
	bench_close();
}

TEST(test_a_sample_is_long)
{
	begin(100 * SEG);
	*bench_shared("slow_start_threshold_bytes") = SEG;
	*bench_shared("smoothed_rtt_ns") = NOPAL_MILLISECOND;
	*bench_shared("minimum_rtt_ns") = NOPAL_SECOND;
	for (int i = 0; i < 1000; i++) {
		/* Twenty at once, after 39 ms or one: 1000 a second. */
		if (i % 20 == 0)
			bench.session->now_ns += (i % 40 ? 39 : 1) * NOPAL_MILLISECOND;
		bench.next_packet++;
		bench_ack(bench.next_packet - 1, SEG);
	}
	*bench_shared("congestion_window_bytes") = 5000 * SEG;
	lose();
	assert_in_range(window(), 900 * SEG, 1100 * SEG);
	bench_close();
}

TEST(test_without_an_estimate_it_halves)
{
	begin(40 * SEG);
	lose();
	assert_int_equal(window(), 20 * SEG);
	bench_close();
}

TEST(test_a_limited_sample_counts_only_upwards)
{
	begin(1000 * SEG);
	*bench_shared("slow_start_threshold_bytes") = SEG;
	one_round(80);
	*bench_shared("app_limited") = 1;
	for (int i = 0; i < 50; i++)
		one_round(2);
	lose();
	assert_in_range(window(), 79 * SEG, 80 * SEG);
	bench_close();
}

TEST(test_one_reduction_an_epoch)
{
	int64_t then;

	begin(100 * SEG);
	one_round(50);
	bench.next_packet += 100;
	bench_status(NOPAL_SEGMENT_LOST, 60);
	then = window();
	bench_status(NOPAL_SEGMENT_LOST, 149);
	assert_int_equal(window(), then);
	/* still recovering: no growth */
	bench.oldest_packet = 149;
	bench_ack(149, 10 * SEG);
	assert_int_equal(window(), then);
	bench_close();
}

TEST(test_the_end_of_a_recovery_judges_anew)
{
	begin(200 * SEG);
	one_round(20);
	bench.next_packet += 200;
	bench_status(NOPAL_SEGMENT_LOST, 21);
	assert_in_range(window(), 19 * SEG, 20 * SEG);
	for (int i = 0; i < 20; i++) {
		bench.session->now_ns += RTT;
		bench_ack(30, 100 * SEG);
	}
	bench.oldest_packet = bench.next_packet;
	bench_ack(bench.next_packet - 1, SEG);
	assert_in_range(*bench_shared("slow_start_threshold_bytes"), 90 * SEG, 100 * SEG);
	/* ... which slow start goes up to, without a burst. */
	assert_in_range(window(), 19 * SEG, 20 * SEG);
	one_round(20);
	assert_in_range(window(), 39 * SEG, 40 * SEG);
	one_round(40);
	one_round(80);
	assert_in_range(window(), 90 * SEG, 102 * SEG);
	bench_close();
}

TEST(test_timeout)
{
	begin(100 * SEG);
	one_round(50);
	bench.next_packet += 10;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 51);
	bench_status(NOPAL_SEGMENT_TIMEOUT, 52);
	assert_int_equal(window(), SEG);
	assert_in_range(*bench_shared("slow_start_threshold_bytes"), 49 * SEG, 50 * SEG);
	bench_close();
}

static int64_t percent_of_a_path(const struct nopal_microprotocol *policy, uint32_t loss_ppm)
{
	int64_t percent;

	bench_place(policy);
	*bench_parameter("initial") = 10 * SEG;
	if (policy == &nopal_tcp_congestion)
		*bench_parameter("variant") = 2;
	bench_begin();
	path_begin(20 * MBIT, 30 * NOPAL_MILLISECOND, 150, loss_ppm);
	path_run(10 * NOPAL_SECOND);
	percent = path_percent(30 * NOPAL_SECOND);
	path_end();
	return percent;
}

TEST(test_fills_a_path)
{
	assert_in_range(percent_of_a_path(&nopal_westwood_congestion, 0), 97, 101);
}

/* The paper's subject: loss that is no sign of congestion. */
TEST(test_random_loss_hurts_less_than_newreno)
{
	int64_t westwood, newreno;

	westwood = percent_of_a_path(&nopal_westwood_congestion, PERCENT / 2);
	newreno = percent_of_a_path(&nopal_tcp_congestion, PERCENT / 2);
	print_message("at 0.5 %% loss: %lld %%, newreno %lld %%\n", (long long)westwood,
		      (long long)newreno);
	assert_true(westwood > newreno + newreno / 2);
}

/* Congestion without a loss: as one loss, once a round trip. */
TEST(test_a_mark_counts_as_a_loss)
{
	int64_t then;

	begin(100 * SEG);
	one_round(50);
	bench.next_packet += 100;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	then = window();
	assert_in_range(then, 49 * SEG, 50 * SEG);
	*bench_shared("minimum_rtt_ns") = RTT / 2;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	bench_status(NOPAL_SEGMENT_LOST, 100);
	assert_int_equal(window(), then);
	bench.oldest_packet = bench.next_packet;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	assert_in_range(window(), 24 * SEG, 25 * SEG);
	bench_close();
}
