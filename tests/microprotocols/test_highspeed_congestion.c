/* SPDX-License-Identifier: MIT */
/* test_highspeed_congestion -- the response function of RFC 3649, in integers. */
#include "support/bench.h"
#include "binary_log.h"
#include "support/test.h"

#include <math.h>

extern const struct nopal_microprotocol nopal_highspeed_congestion;
#define POLICY nopal_highspeed_congestion

/* As section 5 of the RFC has them, with a loss rate that goes by logarithms from 10^-3 at 38
 * segments to 10^-7 at 83000. */
static double place(double segments)
{
	if (segments <= 38)
		return 0;
	if (segments >= 83000)
		return 1;
	return log(segments / 38) / log(83000.0 / 38);
}

static double b_of(double segments)
{
	return 0.5 - 0.4 * place(segments);
}

static double a_of(double segments)
{
	double within = segments < 83000 ? segments : 83000;
	double rate = pow(10, -3 - 4 * place(segments));
	double b = b_of(segments);
	double a = within * within * rate * 2 * b / (2 - b);

	return segments <= 38 || a < 1 ? 1 : a;
}

static int64_t kept(int64_t window)
{
	return (int64_t)((double)window * (1 - b_of((double)window / BENCH_BODY)));
}

enum { KEPT_WITHIN = 100 };
#include "window_policies.h"

/* Rows of appendix B: where a becomes the next whole number, and b there. */
static const struct {
	int64_t window, a, b_percent;
} rows[] = {
	{ 38, 1, 50 },	{ 118, 2, 44 }, { 221, 3, 41 }, { 347, 4, 38 },
	{ 495, 5, 37 }, { 663, 6, 35 }, { 851, 7, 34 }, { 1058, 8, 33 },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

TEST(test_a_as_the_rfc_has_it)
{
	for (int i = 0; i < ROWS; i++) {
		int64_t grown;

		avoid(rows[i].window * SEG);
		for (int64_t left = rows[i].window; left > 0; left--)
			ack(SEG);
		grown = window() / SEG - rows[i].window;
		assert_in_range(grown, rows[i].a - 1, rows[i].a);
		bench_close();
	}
}

TEST(test_b_as_the_rfc_has_it)
{
	for (int i = 0; i < ROWS; i++) {
		int64_t percent;

		avoid(rows[i].window * SEG);
		bench_status(NOPAL_SEGMENT_LOST, 1);
		percent = 100 - 100 * window() / (rows[i].window * SEG);
		assert_in_range(percent, rows[i].b_percent - 1, rows[i].b_percent + 1);
		bench_close();
	}
}

TEST(test_growth_goes_by_the_response_function)
{
	static const int64_t windows[] = { 10, 38, 60, 200, 1000, 5000, 20000, 80000, 200000 };

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		const int64_t rounds = windows[i] < 1000 ? 1000 : 20;
		double expected = (double)windows[i];

		avoid(windows[i] * SEG);
		for (int64_t round = 0; round < rounds; round++) {
			int64_t whole = window();

			expected += a_of(expected);
			for (int part = 0; part < 10; part++)
				ack(whole / 10);
		}
		assert_true(fabs((double)window() / SEG - expected) < expected / 50 + 1);
		bench_close();
	}
}

/* Slower than TCP nowhere. */
TEST(test_small_windows_are_those_of_tcp)
{
	avoid(20 * SEG);
	ack(20 * SEG);
	assert_int_equal(window(), 21 * SEG);
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	assert_int_equal(window(), 21 * SEG / 2);
	bench_close();
}

/* Growth that was due at a large window is not due at a small one. */
TEST(test_a_reduction_counts_anew)
{
	avoid(80000 * SEG);
	ack(SEG);
	bench_status(NOPAL_SEGMENT_TIMEOUT, bench.next_packet++);
	*bench_shared("slow_start_threshold_bytes") = 20 * SEG;
	ack(19 * SEG);
	assert_int_equal(window(), 20 * SEG);
	ack(20 * SEG);
	assert_int_equal(window(), 21 * SEG);
	bench_close();
}

TEST(test_logarithms)
{
	for (uint64_t value = 1; value < UINT64_MAX / 3; value += value / 7 + 1)
		assert_true(fabs((double)binary_log(value) / BINARY_LOG_UNITY -
				 log2((double)value)) < 2e-5);
	for (int64_t log = 0; log < 16 * (int64_t)BINARY_LOG_UNITY; log += 777)
		assert_true(fabs((double)binary_power(log) / BINARY_LOG_UNITY /
					 exp2((double)log / BINARY_LOG_UNITY) -
				 1) < 2e-5);
}

TEST(test_fills_a_path)
{
	check_fills_a_path();
}
