/* SPDX-License-Identifier: MIT */
/* test_cubic_congestion -- RFC 9438 in floating point beside our integers. */
#include "policies.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_cubic_congestion;

static const double C = 0.4, BETA = 0.7;

static void begin(int64_t initial, int64_t rtt_ns)
{
	bench_place(&nopal_cubic_congestion);
	*bench_parameter("initial") = initial;
	*bench_parameter("hystart") = 1;
	bench_begin();
	*bench_shared("smoothed_rtt_ns") = rtt_ns;
	*bench_shared("latest_rtt_ns") = rtt_ns;
}

static void lose(unsigned event)
{
	bench_status(event, bench.next_packet);
	bench.next_packet++;
	bench.oldest_packet = bench.next_packet;
}

/* One round trip in which the whole window is acknowledged, in acks of two. */
static void round_trip(int64_t rtt_ns, void (*also)(double bytes, double t))
{
	int64_t acks = window() / (2 * SEG) + 1;

	for (int64_t i = 0; i < acks; i++) {
		bench.session->now_ns += rtt_ns / acks;
		bench.next_packet += 2;
		bench.oldest_packet = bench.next_packet;
		if (also)
			also(2 * SEG, (double)bench.session->now_ns / 1e9);
		bench_ack(bench.next_packet - 1, 2 * SEG);
	}
}

/* ---------------------------------------------------------- the reference */

static double absolute(double x)
{
	return x < 0 ? -x : x;
}

static double cube(double x)
{
	return x * x * x;
}

static double cube_root(double x)
{
	double root = x > 1 ? x : 1;

	for (int i = 0; i < 200; i++)
		root -= (cube(root) - x) / (3 * root * root);
	return x > 0 ? root : 0;
}

static struct {
	double window, maximum, prior, friendly, began, k, rtt;
	bool avoiding;
} model;

static void model_lose(void)
{
	model.prior = model.window;
	model.maximum = model.window < model.maximum ? model.window * (1 + BETA) / 2 : model.window;
	model.window *= BETA;
	model.avoiding = false;
}

static void model_ack(double bytes, double now)
{
	double t, target;

	if (!model.avoiding) {
		model.avoiding = true;
		model.began = now;
		if (model.maximum < model.window)
			model.maximum = model.window;
		model.k = cube_root((model.maximum - model.window) / SEG / C);
		model.friendly = model.window;
	}
	t = now - model.began;
	model.friendly += (model.friendly < model.prior ? 3 * (1 - BETA) / (1 + BETA) : 1) * SEG *
			  bytes / model.window;
	target = model.maximum + C * cube(t + model.rtt - model.k) * SEG;
	if (target > 1.5 * model.window)
		target = 1.5 * model.window;
	if (target > model.window)
		model.window += (target - model.window) * bytes / model.window;
	if (model.window < model.friendly)
		model.window = model.friendly;
}

static void assert_near(double tolerance)
{
	double apart = absolute((double)window() - model.window) / model.window;

	if (apart > tolerance)
		fail_msg("window %lld, reference %.0f", (long long)window(), model.window);
}

/* Several losses, each after a long time of growth. */
static void compare(int64_t segments, int64_t rtt_ns, int rounds)
{
	begin(segments * SEG, rtt_ns);
	memset(&model, 0, sizeof(model));
	model.window = (double)(segments * SEG);
	model.rtt = (double)rtt_ns / 1e9;
	for (int loss = 0; loss < 4; loss++) {
		model_lose();
		lose(NOPAL_SEGMENT_LOST);
		assert_near(0.001);
		bench_ack(bench.next_packet - 1, SEG); /* ends recovery */
		for (int i = 0; i < rounds; i++) {
			round_trip(rtt_ns, model_ack);
			assert_near(0.01);
		}
	}
	bench_close();
}

TEST(test_against_the_reference)
{
	compare(100, 50 * NOPAL_MILLISECOND, 100);
	compare(1000, 100 * NOPAL_MILLISECOND, 150);
	compare(20, 200 * NOPAL_MILLISECOND, 60);
	compare(4000, 20 * NOPAL_MILLISECOND, 100);
}

TEST(test_short_round_trips_are_renos)
{
	compare(50, NOPAL_MILLISECOND, 400);
}

/* ------------------------------------------------------------- boundaries */

TEST(test_slow_start)
{
	begin(10 * SEG, 50 * NOPAL_MILLISECOND);
	bench_ack(1, 10 * SEG);
	assert_int_equal(window(), 20 * SEG);
	*bench_shared("app_limited") = 1;
	bench_ack(2, 10 * SEG);
	assert_int_equal(window(), 20 * SEG);
	bench_close();
}

/* Two hundred packets out: ten acks of ten each are half of a round. */
static void half_a_round(uint64_t first)
{
	for (uint64_t i = 1; i <= 10; i++) {
		bench.next_packet = first + 10 * i + 100;
		bench_ack(first + 10 * i - 1, 10 * SEG);
	}
}

TEST(test_slow_start_ends_when_delay_grows)
{
	int64_t before;

	begin(100 * SEG, 50 * NOPAL_MILLISECOND);
	bench.next_packet = 100;
	half_a_round(0);
	half_a_round(100);
	half_a_round(200);
	assert_int_equal(window(), 400 * SEG);
	/* An eighth more is within what does not matter. */
	*bench_shared("latest_rtt_ns") = 56 * NOPAL_MILLISECOND;
	half_a_round(300);
	half_a_round(400);
	assert_int_equal(window(), 600 * SEG);
	*bench_shared("latest_rtt_ns") = 63 * NOPAL_MILLISECOND;
	half_a_round(500);
	before = window();
	assert_in_range(before, 680 * SEG, 700 * SEG);
	half_a_round(600);
	assert_true(window() < before + before / 8);
	bench_close();
}

TEST(test_slow_start_without_hystart_goes_on)
{
	int64_t before;

	begin(100 * SEG, 50 * NOPAL_MILLISECOND);
	*bench_parameter("hystart") = 0;
	*bench_shared("latest_rtt_ns") = 70 * NOPAL_MILLISECOND;
	round_trip(50 * NOPAL_MILLISECOND, NULL);
	*bench_shared("latest_rtt_ns") = 700 * NOPAL_MILLISECOND;
	before = window();
	round_trip(50 * NOPAL_MILLISECOND, NULL);
	assert_true(window() >= 2 * before);
	bench_close();
}

TEST(test_one_reduction_an_epoch)
{
	begin(100 * SEG, 50 * NOPAL_MILLISECOND);
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_LOST, 5);
	assert_int_equal(window(), 70 * SEG);
	bench_status(NOPAL_SEGMENT_LOST, 99);
	assert_int_equal(window(), 70 * SEG);
	bench.oldest_packet = 99;
	bench_ack(120, 10 * SEG); /* still recovering */
	assert_int_equal(window(), 70 * SEG);
	bench_status(NOPAL_SEGMENT_LOST, 100);
	assert_int_equal(window(), 49 * SEG);
	bench_close();
}

TEST(test_timeout)
{
	begin(100 * SEG, 50 * NOPAL_MILLISECOND);
	bench.next_packet = 100;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 5);
	bench_status(NOPAL_SEGMENT_TIMEOUT, 6);
	assert_int_equal(window(), SEG);
	/* the resend too; the threshold of 70 stays */
	bench.next_packet = 101;
	bench_status(NOPAL_SEGMENT_TIMEOUT, 100);
	bench.oldest_packet = 101;
	for (int i = 0; i < 69; i++)
		bench_ack(101, SEG);
	assert_int_equal(window(), 70 * SEG);
	bench_ack(101, SEG);
	assert_in_range(window(), 70 * SEG, 71 * SEG);
	bench_close();
}

TEST(test_min_is_two_segments)
{
	begin(2 * SEG, 50 * NOPAL_MILLISECOND);
	for (int i = 0; i < 10; i++)
		lose(NOPAL_SEGMENT_LOST);
	assert_int_equal(window(), 2 * SEG);
	bench_close();
}

TEST(test_idle_time_does_not_count)
{
	int64_t before, busy;

	begin(100 * SEG, 50 * NOPAL_MILLISECOND);
	lose(NOPAL_SEGMENT_LOST);
	bench_ack(bench.next_packet, SEG);
	round_trip(50 * NOPAL_MILLISECOND, NULL);
	before = window();
	*bench_shared("app_limited") = 1;
	for (int i = 0; i < 1000; i++) {
		bench.session->now_ns += 50 * NOPAL_MILLISECOND;
		bench_ack(bench.next_packet, SEG);
	}
	assert_int_equal(window(), before);
	*bench_shared("app_limited") = 0;
	round_trip(50 * NOPAL_MILLISECOND, NULL);
	busy = window();
	assert_true(busy < before + 5 * SEG);
	bench_close();
}

TEST(test_growth_is_bounded_after_a_long_time)
{
	begin(10 * SEG, 100 * NOPAL_MILLISECOND);
	lose(NOPAL_SEGMENT_LOST);
	bench_ack(bench.next_packet, SEG);
	bench_ack(bench.next_packet, SEG);
	for (int i = 0; i < 100; i++) {
		int64_t before = window();

		bench.session->now_ns += 3600 * NOPAL_SECOND;
		bench_ack(bench.next_packet, SEG);
		assert_true(window() >= before);
		assert_true(window() <= before + SEG / 2 + SEG);
	}
	bench_close();
}

TEST(test_a_mark_counts_as_a_loss)
{
	begin(100 * SEG, 50 * NOPAL_MILLISECOND);
	check_marks_are_losses(70 * SEG, 49 * SEG, 2 * SEG);
	bench_close();
}

TEST(test_a_mark_after_a_timeout_takes_nothing)
{
	begin(100 * SEG, 50 * NOPAL_MILLISECOND);
	check_a_mark_after_a_timeout_takes_nothing();
	bench_close();
}
