/* SPDX-License-Identifier: MIT */
/* test_bbr_congestion -- bottlenecks of many kinds. */
#include "support/bench.h"
#include "support/path.h"
#include "policies.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_bbr_congestion;

enum { PERCENT = 10000, MBIT = 1000000 };
#define MS NOPAL_MILLISECOND

static int64_t rate(void)
{
	return *bench_shared("sending_rate_bps");
}

static void begin(void)
{
	bench_place(&nopal_bbr_congestion);
	*bench_parameter("initial") = 10 * SEG;
	*bench_parameter("compensate") = 1;
	bench_begin();
}

static void begin_path(int64_t rate_bps, int64_t delay_ns, uint32_t limit, uint32_t loss_ppm)
{
	begin();
	path_begin(rate_bps, delay_ns, limit, loss_ppm);
}

static void forget_queue(void)
{
	path.queue_sum_ns = 0;
	path.queue_most_ns = 0;
	path.departures = 0;
}

/* ------------------------------------------------------- a whole bottleneck */

TEST(test_fills_the_link_whatever_gets_lost)
{
	static const uint32_t percent[] = { 0, 1, 5, 10, 15, 25 };

	for (size_t i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
		begin_path(100 * MBIT, 25 * MS, 400, percent[i] * PERCENT);
		path_run(2 * NOPAL_SECOND);
		assert_in_range(path_percent(10 * NOPAL_SECOND), 97, 103);
		assert_int_equal(path.timeouts, 0);
		path_end();
	}
}

TEST(test_keeps_the_queue_short)
{
	begin_path(100 * MBIT, 25 * MS, 4000, 0);
	path_run(NOPAL_SECOND);
	assert_in_range(path.queue_most_ns, 0, 60 * MS);
	forget_queue();
	path_run(10 * NOPAL_SECOND);
	assert_in_range(path_mean_queue_ns(), 0, 8 * MS);
	assert_in_range(path.queue_most_ns, 0, 25 * MS);
	path_end();
}

/* A product is 430 segments: 64 of them tell the rate, and three round trips are enough to fill it;
 * what startup puts into the queue is less than that. */
TEST(test_the_first_window_tells_the_rate)
{
	bench_place(&nopal_bbr_congestion);
	*bench_parameter("initial") = 64 * SEG;
	*bench_parameter("compensate") = 1;
	bench_begin();
	path_begin(100 * MBIT, 25 * MS, 400, 0);
	path_run(110 * MS);
	assert_in_range(rate(), 90 * MBIT, 110 * MBIT);
	path_run(60 * MS);
	assert_true(path.in_flight > 400 * SEG);
	path_run(NOPAL_SECOND);
	assert_int_equal(path.overflowed, 0);
	path_end();
}

/* At heavy loss an estimate is a little too large now and then: what that puts into the queue is
 * gone with the next slow phase. */
TEST(test_a_slow_phase_takes_the_queue_away)
{
	begin_path(100 * MBIT, 25 * MS, 4000, 20 * PERCENT);
	path_run(3 * NOPAL_SECOND);
	forget_queue();
	assert_in_range(path_percent(20 * NOPAL_SECOND), 97, 103);
	assert_in_range(path_mean_queue_ns(), 0, 6 * MS);
	path_end();
}

TEST(test_without_compensation_it_is_bbr)
{
	int64_t percent;

	begin();
	*bench_parameter("compensate") = 0;
	path_begin(100 * MBIT, 25 * MS, 400, 15 * PERCENT);
	path_run(2 * NOPAL_SECOND);
	percent = path_percent(10 * NOPAL_SECOND);
	assert_in_range(percent, 75, 92);
	path_end();
}

TEST(test_congestive_loss_is_not_made_up_for)
{
	/* A queue of a twentieth of the product: probing overflows it. */
	begin_path(100 * MBIT, 25 * MS, 30, 0);
	path_run(2 * NOPAL_SECOND);
	path.overflowed = 0;
	path.departures = 0;
	assert_in_range(path_percent(10 * NOPAL_SECOND), 95, 101);
	assert_true(path.overflowed * 100 < path.departures * 8);
	path_end();
}

TEST(test_random_loss_that_ends_is_forgotten)
{
	begin_path(100 * MBIT, 25 * MS, 2000, 20 * PERCENT);
	path_run(8 * NOPAL_SECOND);
	path.loss_ppm = 0;
	path_run(5 * NOPAL_SECOND);
	forget_queue();
	assert_in_range(path_percent(5 * NOPAL_SECOND), 97, 101);
	assert_in_range(path_mean_queue_ns(), 0, 20 * MS);
	path_end();
}

TEST(test_follows_the_rate_up_and_down)
{
	begin_path(20 * MBIT, 20 * MS, 500, 0);
	path_run(3 * NOPAL_SECOND);
	path.rate_bps = 80 * MBIT;
	path_run(4 * NOPAL_SECOND);
	assert_in_range(path_percent(3 * NOPAL_SECOND), 96, 101);
	path.rate_bps = 10 * MBIT;
	path_run(8 * NOPAL_SECOND);
	forget_queue();
	assert_in_range(path_percent(3 * NOPAL_SECOND), 96, 101);
	assert_in_range(path_mean_queue_ns(), 0, 40 * MS);
	path_end();
}

TEST(test_many_paths)
{
	static const struct {
		int64_t rate_bps, delay_ns;
		uint32_t limit;
	} paths[] = {
		{ 1 * MBIT, 50 * MS, 50 },
		{ 10 * MBIT, 1 * MS, 50 },
		{ 10 * MBIT, 150 * MS, 200 },
		{ 200 * MBIT, 10 * MS, 300 },
		{ 50 * MBIT, 100 * NOPAL_MICROSECOND, 100 },
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (uint32_t loss = 0; loss <= 10; loss += 10) {
			begin_path(paths[i].rate_bps, paths[i].delay_ns, paths[i].limit,
				   loss * PERCENT);
			path_run(5 * NOPAL_SECOND);
			assert_in_range(path_percent(8 * NOPAL_SECOND), 92, 106);
			path_end();
		}
}

TEST(test_probes_the_round_trip)
{
	int64_t least = INT64_MAX;
	int64_t low_ns = 0;

	begin_path(50 * MBIT, 20 * MS, 400, 0);
	path_run(5 * NOPAL_SECOND);
	for (int i = 0; i < 20000; i++) {
		path_run(MS);
		if (window() < least)
			least = window();
		low_ns += window() < 200000 ? MS : 0;
	}
	/* Half of 250 kB, once in ten seconds, for a round or so each. */
	assert_in_range(least, 110000, 140000);
	assert_in_range(low_ns, MS, 300 * MS);
	path_end();
}

TEST(test_silence_closes_the_window_and_acks_open_it)
{
	begin_path(50 * MBIT, 20 * MS, 400, 0);
	path_run(3 * NOPAL_SECOND);
	path.down = true;
	path_run(2 * NOPAL_SECOND);
	assert_true(path.timeouts > 1);
	assert_int_equal(window(), 4 * SEG);
	path.down = false;
	path_run(2 * NOPAL_SECOND);
	assert_in_range(path_percent(3 * NOPAL_SECOND), 95, 101);
	path_end();
}

TEST(test_idle_does_not_lose_the_bandwidth)
{
	int64_t before;

	begin_path(50 * MBIT, 20 * MS, 400, 0);
	path_run(3 * NOPAL_SECOND);
	before = rate();
	for (int i = 0; i < 100; i++) {
		path.idle = true;
		path_run(100 * MS);
		path.idle = false;
		path_run(100 * NOPAL_MICROSECOND);
	}
	assert_true(rate() > before / 2);
	path.idle = false;
	path_run(500 * MS);
	assert_in_range(path_percent(2 * NOPAL_SECOND), 94, 101);
	path_end();
}

/* ------------------------------------------------------------------ alone */

TEST(test_begins_with_the_initial_window_and_no_rate)
{
	begin();
	assert_int_equal(window(), 10 * SEG);
	assert_int_equal(rate(), 0);
	bench_close();
}

TEST(test_an_ack_without_segments_says_nothing)
{
	begin();
	bench_ack(1, 0);
	assert_int_equal(window(), 10 * SEG);
	assert_int_equal(rate(), 0);
	bench_close();
}

static struct nopal_segment *depart(void)
{
	struct nopal_segment *segment = bench_segment(SEG);

	segment->departed_ns = bench.session->now_ns;
	segment->packet_number = bench.next_packet++;
	segment->departures = 1;
	*bench_shared("bytes_in_flight") += SEG;
	bench_raise(NOPAL_SEND_SEGMENT, segment);
	return segment;
}

static void receive(struct nopal_segment *segment)
{
	*bench_shared("bytes_in_flight") -= SEG;
	bench_raise(NOPAL_SEGMENT_RECEIVED, segment);
	*bench_shared("latest_rtt_ns") = bench.session->now_ns - segment->departed_ns;
	bench_ack(segment->packet_number, SEG);
}

TEST(test_the_first_sample_sets_the_pace)
{
	struct nopal_segment *segment;

	begin();
	segment = depart();
	bench.session->now_ns += 10 * MS;
	receive(segment);
	/* Ten segments a round trip, times 2.77. */
	assert_int_equal(rate(), INT64_C(10) * SEG * 8 * 100 * 277 / 100);
	bench_close();
}

TEST(test_too_short_an_interval_is_no_sample)
{
	struct nopal_segment *segment;
	int64_t before;

	begin();
	for (int i = 0; i < 20; i++) {
		segment = depart();
		bench.session->now_ns += 10 * MS;
		receive(segment);
	}
	before = rate();
	/* A resend whose first departure is acknowledged a moment later. */
	segment = depart();
	depart();
	bench.session->now_ns += 10 * NOPAL_MICROSECOND;
	*bench_shared("bytes_in_flight") -= SEG;
	bench_raise(NOPAL_SEGMENT_RECEIVED, segment);
	*bench_shared("latest_rtt_ns") = 10 * MS;
	bench_ack(segment->packet_number, SEG);
	assert_int_equal(rate(), before);
	bench_close();
}

TEST(test_window_is_never_below_four)
{
	begin();
	*bench_parameter("initial") = SEG;
	for (int i = 0; i < 50; i++) {
		struct nopal_segment *segment = depart();

		bench.session->now_ns += NOPAL_SECOND;
		receive(segment);
		assert_true(window() >= 4 * SEG);
	}
	bench_close();
}

/* Congestion without a loss: startup is over, a round of slow phase begins. */
TEST(test_a_mark_ends_startup)
{
	begin_path(100 * MBIT, 25 * MS, 4000, 0);
	bench_raise(NOPAL_CONGESTION_MARKED, NULL); /* nothing is known yet */
	path_run(130 * MS);
	assert_true(rate() < 60 * MBIT);
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	path_run(110 * MS);
	/* Growth goes on, but by probes: one quarter each. */
	assert_true(rate() < 80 * MBIT);
	path_end();
}

TEST(test_a_mark_takes_a_queue_away)
{
	int64_t fast;

	begin_path(100 * MBIT, 25 * MS, 4000, 0);
	path_run(2 * NOPAL_SECOND);
	/* To the fast phase. */
	for (int i = 0; i < 1000 && rate() < 115 * MBIT; i++)
		path_run(MS);
	fast = rate();
	assert_true(fast > 115 * MBIT);
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	path_run(5 * MS);
	assert_in_range(rate(), 70 * MBIT, 80 * MBIT);
	path_end();
}
