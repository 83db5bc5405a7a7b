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
	path.queue_max_ns = 0;
	path.transmissions = 0;
}

/* ------------------------------------------------------- a whole bottleneck */

TEST(test_fills_the_link)
{
	begin_path(100 * MBIT, 25 * MS, 400, 0);
	path_run(2 * NOPAL_SECOND);
	assert_in_range(path_percent(10 * NOPAL_SECOND), 97, 103);
	assert_int_equal(path.timeouts, 0);
	path_end();
}

TEST(test_keeps_the_queue_short)
{
	begin_path(100 * MBIT, 25 * MS, 4000, 0);
	path_run(NOPAL_SECOND);
	assert_in_range(path.queue_max_ns, 0, 60 * MS);
	forget_queue();
	path_run(10 * NOPAL_SECOND);
	assert_in_range(path_mean_queue_ns(), 0, 8 * MS);
	assert_in_range(path.queue_max_ns, 0, 25 * MS);
	path_end();
}

/* The rate is that of delivery: what is lost behind the bottleneck leaves it idle. */
TEST(test_random_loss_leaves_the_link_idle_in_part)
{
	begin_path(100 * MBIT, 25 * MS, 400, 15 * PERCENT);
	path_run(2 * NOPAL_SECOND);
	assert_in_range(path_percent(10 * NOPAL_SECOND), 75, 92);
	path_end();
}

TEST(test_congestive_loss_is_not_made_up_for)
{
	/* A queue of a twentieth of the product: probing overflows it. */
	begin_path(100 * MBIT, 25 * MS, 30, 0);
	path_run(2 * NOPAL_SECOND);
	path.overflowed = 0;
	path.transmissions = 0;
	assert_in_range(path_percent(10 * NOPAL_SECOND), 95, 101);
	assert_true(path.overflowed * 100 < path.transmissions * 8);
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
		int64_t min_percent;
	} paths[] = {
		{ 1 * MBIT, 50 * MS, 50, 92 },
		{ 10 * MBIT, 1 * MS, 50, 92 },
		/* A look for the least round trip costs it a second. */
		{ 10 * MBIT, 150 * MS, 200, 75 },
		{ 200 * MBIT, 10 * MS, 300, 92 },
		{ 50 * MBIT, 100 * NOPAL_MICROSECOND, 100, 92 },
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		begin_path(paths[i].rate_bps, paths[i].delay_ns, paths[i].limit, 0);
		path_run(5 * NOPAL_SECOND);
		assert_in_range(path_percent(8 * NOPAL_SECOND), paths[i].min_percent, 106);
		path_end();
	}
}

/* Least window of 20 s, and how long it was less than `low`, once in ten seconds. */
static int64_t min_window(int64_t low, int64_t *ret_low_ns)
{
	int64_t min = INT64_MAX;

	*ret_low_ns = 0;
	path_run(5 * NOPAL_SECOND);
	for (int i = 0; i < 20000; i++) {
		path_run(MS);
		if (window() < min)
			min = window();
		*ret_low_ns += window() < low ? MS : 0;
	}
	return min;
}

TEST(test_probes_the_round_trip)
{
	int64_t low_ns;

	begin_path(50 * MBIT, 20 * MS, 400, 0);
	assert_int_equal(min_window(5 * SEG, &low_ns), 4 * SEG);
	assert_in_range(low_ns, 350 * MS, 700 * MS);
	path_end();
}

/* Half of 250 kB, for a round or so each. */
TEST(test_a_probe_may_keep_a_share_of_the_product)
{
	int64_t low_ns;

	begin_path(50 * MBIT, 20 * MS, 400, 0);
	*bench_shared("probe_rtt_percent") = 50;
	assert_in_range(min_window(200000, &low_ns), 110000, 140000);
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

static struct nopal_segment *leave(void)
{
	struct nopal_segment *segment = bench_segment(SEG);

	segment->transmitted_ns = bench.session->now_ns;
	segment->packet_number = bench.next_packet++;
	segment->transmissions = 1;
	*bench_shared("bytes_in_flight") += SEG;
	bench_raise(NOPAL_SEND_SEGMENT, segment);
	return segment;
}

static void receive(struct nopal_segment *segment)
{
	*bench_shared("bytes_in_flight") -= SEG;
	bench_raise(NOPAL_SEGMENT_RECEIVED, segment);
	*bench_shared("latest_rtt_ns") = bench.session->now_ns - segment->transmitted_ns;
	bench_ack(segment->packet_number, SEG);
}

TEST(test_the_first_sample_sets_the_pace)
{
	struct nopal_segment *segment;

	begin();
	segment = leave();
	bench.session->now_ns += 10 * MS;
	receive(segment);
	/* Ten segments a round trip, times 2.77. */
	assert_int_equal(rate(), INT64_C(10) * SEG * 8 * 100 * 277 / 100);
	bench_close();
}

TEST(test_a_limited_sample_is_told_to_the_parts)
{
	struct nopal_segment *limited, *full;

	begin();
	*bench_shared("app_limited") = 1;
	limited = leave();
	bench.session->now_ns += 10 * MS;
	receive(limited);
	assert_int_equal(*bench_shared("rate_sample_limited"), 1);
	*bench_shared("app_limited") = 0;
	full = leave();
	bench.session->now_ns += 10 * MS;
	receive(full);
	assert_int_equal(*bench_shared("rate_sample_limited"), 0);
	bench_close();
}

TEST(test_too_short_an_interval_is_no_sample)
{
	struct nopal_segment *segment;
	int64_t before;

	begin();
	for (int i = 0; i < 20; i++) {
		segment = leave();
		bench.session->now_ns += 10 * MS;
		receive(segment);
	}
	before = rate();
	/* A resend whose first transmission is acknowledged a moment later. */
	segment = leave();
	leave();
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
		struct nopal_segment *segment = leave();

		bench.session->now_ns += NOPAL_SECOND;
		receive(segment);
		assert_true(window() >= 4 * SEG);
	}
	bench_close();
}

/* ------------------------------------------------------------- modifiers */

TEST(test_a_request_to_drain_ends_startup)
{
	begin_path(100 * MBIT, 25 * MS, 4000, 0);
	path_run(130 * MS);
	assert_true(rate() < 60 * MBIT);
	++*bench_shared("drain_requests");
	path_run(110 * MS);
	/* Growth goes on, but by probes: one quarter each. */
	assert_true(rate() < 80 * MBIT);
	path_end();
}

TEST(test_a_request_to_drain_takes_a_queue_away)
{
	int64_t fast;

	begin_path(100 * MBIT, 25 * MS, 4000, 0);
	path_run(2 * NOPAL_SECOND);
	/* To the fast phase. */
	for (int i = 0; i < 1000 && rate() < 115 * MBIT; i++)
		path_run(MS);
	fast = rate();
	assert_true(fast > 115 * MBIT);
	path_run(20 * MS); /* of queue */
	++*bench_shared("drain_requests");
	path_run(5 * MS);
	assert_in_range(rate(), 70 * MBIT, 80 * MBIT);
	path_end();
}

TEST(test_a_standing_queue_and_losses_end_startup)
{
	static const char *const signs[] = { "queue_stands", "startup_overflows" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		begin_path(100 * MBIT, 25 * MS, 4000, 0);
		path_run(130 * MS);
		assert_int_equal(*bench_shared("in_startup"), 1);
		*bench_shared(signs[i]) = 1;
		path_run(60 * MS);
		assert_int_equal(*bench_shared("in_startup"), 0);
		path_end();
	}
}

static void exchange(int times)
{
	for (int i = 0; i < times; i++) {
		struct nopal_segment *segment = leave();

		bench.session->now_ns += 10 * MS;
		receive(segment);
	}
}

TEST(test_startup_stays_within_its_bounds)
{
	begin();
	*bench_shared("startup_most_bps") = MBIT;
	exchange(1);
	assert_int_equal(rate(), MBIT);
	*bench_shared("startup_least_bps") = 200 * MBIT;
	exchange(1);
	assert_int_equal(rate(), 200 * MBIT);
	/* 250 kB a round trip: below that the window grows fourfold. */
	assert_int_equal(*bench_shared("sends_slowly"), 1);
	assert_int_equal(window(), 14 * SEG);
	bench_close();
}

TEST(test_what_was_passed_counts)
{
	int64_t before;

	begin();
	exchange(20);
	before = *bench_shared("bottleneck_bps");
	*bench_shared("passed_bytes") = SEG;
	exchange(1);
	assert_int_equal(*bench_shared("bottleneck_bps"), 2 * before);
	bench_close();
}

TEST(test_bursts_of_acks_have_room)
{
	int64_t product;

	begin_path(50 * MBIT, 20 * MS, 400, 0);
	path_run(3 * NOPAL_SECOND);
	product = (int64_t)nopal_rate_bytes((uint64_t)*bench_shared("bottleneck_bps"),
					    *bench_shared("path_rtt_ns"));
	assert_in_range(window(), 2 * product - SEG, 2 * product + 4 * SEG);
	*bench_shared("ack_burst_bytes") = 30 * SEG;
	path_run(500 * MS);
	product = (int64_t)nopal_rate_bytes((uint64_t)*bench_shared("bottleneck_bps"),
					    *bench_shared("path_rtt_ns"));
	assert_in_range(window(), 2 * product + 33 * SEG, 2 * product + 34 * SEG);
	path_end();
}

TEST(test_the_usual_round_trip_is_the_path_s)
{
	begin();
	*bench_shared("usual_rtt_ns") = 30 * MS;
	exchange(1);
	assert_int_equal(*bench_shared("path_rtt_ns"), 30 * MS);
	*bench_shared("usual_rtt_ns") = 0;
	exchange(1);
	assert_int_equal(*bench_shared("path_rtt_ns"), 30 * MS);
	*bench_shared("usual_rtt_ns") = -1;
	exchange(1);
	assert_int_equal(*bench_shared("path_rtt_ns"), 10 * MS);
	bench_close();
}

TEST(test_where_packets_overtake_startup_begins_again)
{
	begin_path(50 * MBIT, 20 * MS, 400, 0);
	path_run(3 * NOPAL_SECOND);
	assert_int_equal(*bench_shared("in_startup"), 0);
	*bench_shared("overtaken_rtt_ns") = 70 * MS;
	path_run(MS);
	assert_int_equal(*bench_shared("in_startup"), 1);
	path_run(2 * NOPAL_SECOND);
	assert_int_equal(*bench_shared("in_startup"), 0);
	path_end();
}
