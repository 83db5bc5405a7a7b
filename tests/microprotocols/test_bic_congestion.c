/* SPDX-License-Identifier: MIT */
/* test_bic_congestion -- half of the way back in a round trip, and then beyond. */
#include "support/bench.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_bic_congestion;
#define POLICY nopal_bic_congestion

static int64_t kept(int64_t window)
{
	return window < 14 * BENCH_BODY ? window / 2 : window - window / 8;
}

enum { KEPT_WITHIN = 2 };
#include "window_policies.h"

TEST(test_half_of_the_way_in_a_round)
{
	avoid(200 * SEG);
	lose();
	assert_int_equal(window(), 175 * SEG);
	ack(window());
	assert_int_equal(window(), 175 * SEG + 12500);
	ack(window());
	assert_int_equal(window(), 175 * SEG + 12500 + 6250);
	bench_close();
}

TEST(test_never_more_than_32_segments_in_a_round)
{
	avoid(4000 * SEG);
	lose();
	ack(window());
	assert_int_equal(window(), 3532 * SEG);
	ack(window());
	assert_int_equal(window(), 3564 * SEG);
	bench_close();
}

/* The window nears that of the loss, passes it, and then grows ever faster. */
TEST(test_beyond_it_probes_ever_faster)
{
	int64_t before = 0, step = 0, rounds = 0;

	avoid(200 * SEG);
	lose();
	while (window() <= 200 * SEG && rounds++ < 100)
		one_round();
	assert_in_range(rounds, 8, 60);
	while (step < 31 * SEG && rounds++ < 100) {
		int64_t from = window();

		one_round();
		step = window() - from;
		assert_true(step >= before);
		assert_true(step <= 33 * SEG);
		before = step;
	}
	assert_in_range(rounds, 12, 80);
	bench_close();
}

TEST(test_no_part_of_a_step_is_lost)
{
	int64_t whole;

	avoid(200 * SEG);
	lose();
	ack(window());
	whole = window();
	bench_close();
	avoid(200 * SEG);
	lose();
	for (int i = 0; i < 175; i++)
		ack(SEG);
	/* The nearer, the slower: a little less than in one step. */
	assert_in_range(window(), whole - 3 * SEG, whole);
	bench_close();
}

/* A flow that lost below its last loss searches lower. */
TEST(test_fast_convergence)
{
	int64_t left;

	avoid(200 * SEG);
	lose();
	lose();
	left = kept(175 * SEG);
	assert_int_equal(window(), left);
	/* The middle between 175 and what is left of it, and half of that way. */
	ack(window());
	assert_in_range(window(), left + ((175 * SEG + left) / 2 - left) / 2 - 1,
			left + ((175 * SEG + left) / 2 - left) / 2 + 1);
	bench_close();
}

TEST(test_small_windows_are_those_of_tcp)
{
	avoid(12 * SEG);
	ack(12 * SEG);
	assert_int_equal(window(), 13 * SEG);
	lose();
	assert_int_equal(window(), 13 * SEG / 2);
	bench_close();
}

TEST(test_fills_a_path)
{
	check_fills_a_path();
}
