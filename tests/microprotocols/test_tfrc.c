/* SPDX-License-Identifier: MIT */
/* test_tfrc -- RFC 5348 in floating point beside our integers; paths that lose. */
#include "support/bench.h"
#include "support/path.h"
#include "loss_intervals.h"
#include "response_equation.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_tfrc;
extern const struct nopal_microprotocol nopal_tcp_congestion;

enum { SEG = BENCH_BODY, MBIT = 1000000, INITIAL = 4 * BENCH_BODY };
#define RTT (100 * NOPAL_MILLISECOND)

static int64_t rate(void)
{
	return *bench_shared("sending_rate_bps");
}

/* ---------------------------------------------------------- the reference */

static double root(double x)
{
	double r = x > 1 ? x : 1;

	for (int i = 0; i < 200; i++)
		r = (r + x / r) / 2;
	return r;
}

/* Bits a second. */
static double equation(double segment, double rtt, double p)
{
	return 8 * segment /
	       (rtt * (root(2 * p / 3) + 12 * root(3 * p / 8) * p * (1 + 32 * p * p)));
}

static bool is_near(double value, double expected, double tolerance)
{
	double apart = value > expected ? value - expected : expected - value;

	if (apart <= expected * tolerance + 1)
		return true;
	print_message("%g is not %g\n", value, expected);
	return false;
}

TEST(test_the_equation)
{
	static const int64_t rtts[] = { 100 * NOPAL_MICROSECOND, RTT, 10 * NOPAL_SECOND };

	for (size_t i = 0; i < sizeof(rtts) / sizeof(rtts[0]); i++)
		for (double p = 1e-9; p <= 1; p *= 1.7)
			assert_true(
				is_near((double)response_rate(SEG, rtts[i], (uint64_t)(p * 1e18)),
					equation(SEG, (double)rtts[i] / 1e9, p), 0.002));
	assert_true(response_rate(1500, 1, 1) > 0);
	assert_true(response_rate(1, 60 * NOPAL_SECOND, RESPONSE_UNITY) < 1000);
}

TEST(test_the_equation_backwards)
{
	for (double p = 1e-9; p < 0.9; p *= 1.9) {
		uint64_t bps = response_rate(SEG, RTT, (uint64_t)(p * 1e18));

		assert_true(is_near((double)response_events(SEG, RTT, bps), p * 1e18, 0.002));
	}
	assert_int_equal(response_events(SEG, RTT, 0), RESPONSE_UNITY);
}

/* Section 5.5 in floating point. */
static struct {
	double length[9], discount[9]; /* [0] is open */
	int closed;
} model;

static const double weight[] = { 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 };

static double model_mean(double open, double *ret_discount)
{
	double with = open, with_weights = 1, sum = 0, weights = 0, discount;

	for (int i = 1; i <= model.closed; i++) {
		sum += model.length[i] * weight[i - 1] * model.discount[i];
		weights += weight[i - 1] * model.discount[i];
	}
	discount = open > 2 * sum / weights ? 2 * sum / weights / open : 1;
	discount = discount < 0.25 ? 0.25 : discount;
	for (int i = 1; i < model.closed; i++) {
		double part = weight[i] * model.discount[i] * discount;

		with += model.length[i] * part;
		with_weights += part;
	}
	*ret_discount = discount;
	with /= with_weights;
	return with > sum / weights ? with : sum / weights;
}

static void model_close(double length)
{
	double discount = 1;

	if (model.closed)
		model_mean(length, &discount);
	for (int i = 8; i > 1; i--) {
		model.length[i] = model.length[i - 1];
		model.discount[i] = model.discount[i - 1] * discount;
	}
	model.length[1] = length;
	model.discount[1] = 1;
	model.closed += model.closed < 8;
}

/* At random: weights, the open interval, discounts. */
TEST(test_the_mean_interval)
{
	struct loss_intervals intervals = { 0 };
	uint64_t packet = 1000;

	memset(&model, 0, sizeof(model));
	bench.draw = 7;
	assert_true(loss_intervals_lost(&intervals, packet, 0, RTT));
	loss_intervals_close(&intervals, 50);
	model_close(50);
	for (int i = 1; i < 3000; i++) {
		uint64_t length = 1 + bench_draw() % 300;
		uint64_t open = bench_draw() % 4000;
		double discount, mean;

		length *= bench_draw() % 8 ? 1 : 10;
		mean = model_mean((double)open, &discount);
		assert_true(is_near(
			(double)loss_intervals_events(&intervals, packet + open, RESPONSE_UNITY),
			1e18 / mean, 0.01));
		packet += length;
		assert_true(loss_intervals_lost(&intervals, packet, i * 2 * RTT, RTT));
		model_close((double)length);
	}
}

TEST(test_old_losses_are_forgotten_sooner_on_a_better_path)
{
	struct loss_intervals intervals = { 0 };
	uint64_t before, after;

	for (uint64_t i = 0; i < 9; i++)
		loss_intervals_lost(&intervals, 10 * i, (int64_t)i * 2 * RTT, RTT);
	before = loss_intervals_events(&intervals, 80, RESPONSE_UNITY);
	assert_true(is_near((double)before, 1e17, 1e-9));
	after = loss_intervals_events(&intervals, 80 + 200, RESPONSE_UNITY);
	/* (1 + 5/4) / (200 + 12.5): not (1 + 5) / (200 + 50). */
	assert_true(is_near((double)after, 1e18 * 2.25 / 212.5, 1e-9));
}

TEST(test_losses_of_a_round_trip_are_one_event)
{
	struct loss_intervals intervals = { 0 };

	assert_true(loss_intervals_lost(&intervals, 10, NOPAL_SECOND, RTT));
	assert_false(loss_intervals_lost(&intervals, 11, NOPAL_SECOND, RTT));
	assert_false(loss_intervals_lost(&intervals, 90, NOPAL_SECOND + RTT, RTT));
	assert_false(loss_intervals_lost(&intervals, 9, 0, RTT));
	assert_int_equal(intervals.count, 0);
	assert_true(loss_intervals_lost(&intervals, 91, NOPAL_SECOND + RTT + 1, RTT));
	assert_int_equal(intervals.packets[0], 81);
}

/* --------------------------------------------------------------- the policy */

static void begin(void)
{
	bench_place(&nopal_tfrc);
	*bench_parameter("initial") = INITIAL;
	*bench_parameter("damping") = 0;
	bench_begin();
	*bench_shared("smoothed_rtt_ns") = RTT;
	*bench_shared("latest_rtt_ns") = RTT;
}

/* Departs and is acknowledged: a round trip of so many segments. */
static void one_round(uint64_t segments)
{
	for (uint64_t i = 0; i < segments; i++) {
		bench_status(NOPAL_SEND_SEGMENT, bench.next_packet);
		bench.next_packet++;
	}
	bench.session->now_ns += RTT;
	bench_ack(bench.next_packet - 1, segments * SEG);
}

static int64_t segments_a_round(void)
{
	return (int64_t)((double)rate() * (double)RTT / 1e9 / 8 / SEG + 0.5);
}

/* As much as the rate allows, until it is `segments`. */
static void to_rate(int64_t segments)
{
	one_round(1);
	while (segments_a_round() < segments)
		one_round((uint64_t)segments_a_round());
}

static void missing(unsigned event, uint64_t packet)
{
	struct nopal_segment *segment =
		calloc(1, sizeof(*segment) + BENCH_SLOTS * sizeof(uint64_t));

	segment->packet_number = packet;
	segment->transmitted_ns = bench.session->now_ns;
	segment->transmissions = 1;
	segment->body.length = SEG;
	bench_raise(event, segment);
	free(segment);
}

static void lose(uint64_t packet)
{
	missing(NOPAL_SEGMENT_LOST, packet);
}

TEST(test_before_an_ack_a_segment_a_second)
{
	begin();
	assert_int_equal(rate(), 8 * SEG);
	one_round(1);
	assert_int_equal(segments_a_round(), INITIAL / SEG);
	bench_close();
}

TEST(test_slow_start_doubles)
{
	int64_t expected = INITIAL / SEG;

	begin();
	one_round(1);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(segments_a_round(), expected);
		one_round((uint64_t)expected);
		expected *= 2;
	}
	bench_close();
}

TEST(test_never_twice_what_was_received)
{
	begin();
	to_rate(64);
	/* Ten arrive of the 64 that leave. */
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 64; j++)
			bench_status(NOPAL_SEND_SEGMENT, bench.next_packet++);
		bench.session->now_ns += RTT;
		bench_ack(bench.next_packet - 1, 10 * SEG);
	}
	assert_int_equal(segments_a_round(), 20);
	bench_close();
}

TEST(test_an_application_that_limits_does_not_shrink_it)
{
	int64_t before;

	begin();
	to_rate(64);
	before = rate();
	for (int i = 0; i < 5; i++)
		one_round(5);
	assert_true(rate() >= before);
	/* ... nor let it grow without end. */
	assert_in_range(segments_a_round(), 64, 128);
	bench_close();
}

/* The first interval is what gives the rate that was received. */
TEST(test_the_first_loss_keeps_the_rate_received)
{
	begin();
	to_rate(64); /* at 64, 32 were received */
	lose(bench.next_packet - 1);
	assert_in_range(segments_a_round(), 31, 32);
	bench_close();
}

/* Then the interval is known: so many packets at each event. */
TEST(test_events_set_the_rate_of_the_equation)
{
	double expected = equation(SEG, 0.1, 1.0 / 200);

	begin();
	to_rate(64);
	for (int i = 0; i < 20; i++) {
		lose(bench.next_packet - 1);
		/* Sooner or later what is open would count. */
		for (int j = 0; j < 10; j++)
			one_round(20);
	}
	lose(bench.next_packet - 1);
	assert_true(is_near((double)rate(), expected, 0.01));
	bench_close();
}

TEST(test_a_loss_before_anything_is_known)
{
	begin();
	*bench_shared("smoothed_rtt_ns") = 0;
	bench_status(NOPAL_SEND_SEGMENT, bench.next_packet++);
	lose(0);
	assert_int_equal(rate(), 8 * SEG);
	bench_pass(10 * NOPAL_SECOND); /* nobody answers */
	assert_in_range(rate(), 8 * SEG / 64, 8 * SEG / 2);
	*bench_shared("smoothed_rtt_ns") = RTT;
	one_round(1);
	one_round(4);
	/* About a packet in two round trips. */
	assert_in_range(rate(), 8 * SEG * 10 / 3, 8 * SEG * 10);
	bench_close();
}

TEST(test_silence_halves)
{
	int64_t before;

	begin();
	to_rate(64);
	bench_status(NOPAL_SEND_SEGMENT, bench.next_packet++);
	before = rate();
	bench_pass(4 * RTT - 1);
	assert_int_equal(rate(), before);
	bench_pass(2);
	assert_int_equal(rate(), before / 2);
	bench_pass(100 * NOPAL_SECOND);
	/* An idle session keeps the values of a beginning. */
	assert_in_range(segments_a_round(), 2, INITIAL / SEG);
	assert_int_equal(bench.timer[0], NOPAL_NEVER);
	bench_close();
}

TEST(test_silence_halves_the_equation_too)
{
	int64_t before;

	begin();
	to_rate(256);
	lose(bench.next_packet - 1);
	for (int i = 0; i < 3; i++)
		one_round(100);
	before = rate();
	bench_status(NOPAL_SEND_SEGMENT, bench.next_packet++);
	bench_pass(4 * RTT + 1);
	assert_true(rate() <= before / 2 + 1);
	assert_true(rate() >= before / 4);
	bench_close();
}

/* However long nothing is acknowledged: a segment in 64 s. */
TEST(test_the_min_rate)
{
	begin();
	to_rate(64);
	for (int i = 0; i < 100; i++) {
		bench_status(NOPAL_SEND_SEGMENT, bench.next_packet++);
		bench_pass(200 * NOPAL_SECOND);
	}
	assert_int_equal(rate(), 8 * SEG / 64);
	bench_close();
}

/* A path that is down: however much is timed out, the rate falls by halves, and what is
 * acknowledged afterwards brings a segment a round trip at least. */
TEST(test_back_from_silence)
{
	begin();
	to_rate(64);
	lose(bench.next_packet - 1);
	one_round(30);
	for (int i = 0; i < 20; i++) {
		int64_t before = rate();

		bench_status(NOPAL_SEND_SEGMENT, bench.next_packet);
		missing(NOPAL_SEGMENT_TIMEOUT, bench.next_packet++);
		assert_int_equal(rate(), before);
		bench_pass(5 * RTT);
		assert_true(rate() >= before / 5);
	}
	assert_true(rate() <= 8 * SEG); /* Any ack is an answer. */
	bench_status(NOPAL_SEND_SEGMENT, bench.next_packet++);
	bench_ack(bench.next_packet - 1, 0);
	assert_int_equal(rate(), 8 * SEG * 10);
	one_round(1);
	assert_true(rate() >= 8 * SEG * 10);
	for (int i = 0; i < 30; i++)
		one_round((uint64_t)segments_a_round());
	assert_true(segments_a_round() >= 4);
	/* ... and one that is missing again takes that back. */
	for (int i = 0; i < 40; i++) {
		bench_status(NOPAL_SEND_SEGMENT, bench.next_packet);
		missing(NOPAL_SEGMENT_TIMEOUT, bench.next_packet++);
		bench_pass(100 * NOPAL_SECOND);
	}
	assert_int_equal(rate(), 8 * SEG / 64);
	bench_close();
}

TEST(test_a_growing_queue_damps)
{
	int64_t before;

	begin();
	*bench_parameter("damping") = 1;
	to_rate(64);
	lose(bench.next_packet - 1);
	one_round(64);
	before = rate();
	*bench_shared("latest_rtt_ns") = RTT * 3 / 2;
	one_round(64);
	assert_in_range(rate(), before * 75 / 100, before * 90 / 100);
	bench_close();
}

/* -------------------------------------------------------- a whole bottleneck */

static void begin_path(const struct nopal_microprotocol *policy, int64_t rate_bps, uint32_t limit,
		       uint32_t loss_ppm)
{
	bench_place(policy);
	*bench_parameter("initial") = INITIAL;
	if (policy == &nopal_tfrc)
		*bench_parameter("damping") = 1;
	else
		*bench_parameter("variant") = 2;
	bench_begin();
	path_begin(rate_bps, 30 * NOPAL_MILLISECOND, limit, loss_ppm);
}

TEST(test_fills_a_path)
{
	begin_path(&nopal_tfrc, 20 * MBIT, 150, 0);
	path_run(10 * NOPAL_SECOND);
	assert_in_range(path_percent(60 * NOPAL_SECOND), 90, 101);
	assert_int_equal(path.timeouts, 0);
	path_end();
}

/* The rate that the equation has at this share of random loss: losses within a round trip of an
 * event are none of their own. */
static double expected_at(double loss, double rtt)
{
	double bps = 1e6;

	for (int i = 0; i < 200; i++) {
		double events = 1 / (1 / loss + bps * rtt / 8 / SEG);

		bps = root(bps * equation(SEG, rtt, events));
	}
	return bps;
}

TEST(test_the_equation_at_random_loss)
{
	static const double losses[] = { 0.001, 0.003, 0.01, 0.03 };

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		double expected = expected_at(losses[i], 0.06), bps;
		uint64_t before;

		begin_path(&nopal_tfrc, 1000 * MBIT, 1000, (uint32_t)(losses[i] * PATH_MILLION));
		path_run(30 * NOPAL_SECOND);
		before = path.transmissions;
		path_run(200 * NOPAL_SECOND);
		bps = (double)(path.transmissions - before) * 8 * SEG / 200;
		print_message("%g %% loss: %.0f kbit/s, equation %.0f\n", 100 * losses[i],
			      bps / 1e3, expected / 1e3);
		assert_true(is_near(bps, expected, 0.2));
		path_end();
	}
}

/* Deviation over mean of what arrives in half a second, in percent. */
static double roughness(const struct nopal_microprotocol *policy)
{
	enum { PIECES = 200 };
	double sum = 0, squares = 0, mean;

	begin_path(policy, 1000 * MBIT, 1000, 10000);
	path_run(20 * NOPAL_SECOND);
	for (int i = 0; i < PIECES; i++) {
		uint64_t before = path.delivered_bytes;
		double bytes;

		path_run(NOPAL_SECOND / 2);
		bytes = (double)(path.delivered_bytes - before);
		sum += bytes;
		squares += bytes * bytes;
	}
	path_end();
	mean = sum / PIECES;
	return 100 * root(squares / PIECES / mean / mean - 1);
}

TEST(test_smoother_than_newreno)
{
	double tfrc = roughness(&nopal_tfrc);
	double newreno = roughness(&nopal_tcp_congestion);

	print_message("tfrc %.0f %%, newreno %.0f %%\n", tfrc, newreno);
	assert_true(tfrc < 0.7 * newreno);
}

/* Congestion without a loss: an event like one, once a round trip. */
TEST(test_a_mark_counts_as_a_loss)
{
	int64_t rates[2];

	for (int marked = 0; marked < 2; marked++) {
		begin();
		to_rate(64);
		for (int i = 0; i < 30; i++) {
			if (marked)
				bench_raise(NOPAL_CONGESTION_MARKED, NULL);
			else
				lose(bench.next_packet - 1);
			for (int j = 0; j < 10; j++) {
				/* ... that an ack of the same round repeats */
				if (marked && j < 2)
					bench_raise(NOPAL_CONGESTION_MARKED, NULL);
				one_round(20);
			}
		}
		rates[marked] = rate();
		bench_close();
	}
	assert_true(is_near((double)rates[1], equation(SEG, 0.1, 1.0 / 200), 0.01));
	assert_int_equal(rates[0], rates[1]);
}
