/* SPDX-License-Identifier: MIT */
/* test_scalable_congestion -- a hundredth for what arrives, an eighth for a loss. */
#include "support/bench.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_scalable_congestion;
#define POLICY nopal_scalable_congestion

static int64_t kept(int64_t window)
{
	return window <= 16 * BENCH_BODY ? window / 2 : window - window / 8;
}

enum { KEPT_WITHIN = 2 };
#include "window_policies.h"

TEST(test_grows_by_a_hundredth)
{
	avoid(1000 * SEG);
	ack(1000 * SEG);
	assert_int_equal(window(), 1010 * SEG);
	for (int i = 0; i < 99; i++)
		ack(SEG);
	assert_int_equal(window(), 1010 * SEG);
	ack(SEG);
	assert_int_equal(window(), 1011 * SEG);
	bench_close();
}

TEST(test_small_windows_grow_as_tcp_does)
{
	avoid(20 * SEG);
	ack(20 * SEG - 1);
	assert_int_equal(window(), 20 * SEG);
	ack(1);
	assert_int_equal(window(), 21 * SEG);
	bench_close();
}

TEST(test_small_windows_halve)
{
	avoid(16 * SEG);
	bench_status(NOPAL_SEGMENT_LOST, 1);
	assert_int_equal(window(), 8 * SEG);
	bench_close();
}

static int rounds_until_back(int64_t from)
{
	int rounds = 0;

	avoid(from);
	lose();
	while (window() < from && rounds < 1000) {
		one_round();
		rounds++;
	}
	bench_close();
	return rounds;
}

/* The policy's aim: the way back does not grow with the window. */
TEST(test_the_way_back_is_as_long_for_all_windows)
{
	assert_in_range(rounds_until_back(400 * SEG), 13, 15);
	assert_in_range(rounds_until_back(4000 * SEG), 13, 15);
}

TEST(test_fills_a_path)
{
	check_fills_a_path();
}
