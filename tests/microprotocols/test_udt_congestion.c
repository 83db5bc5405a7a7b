/* SPDX-License-Identifier: MIT */
/* test_udt_congestion -- steps by what is left, reports of one event, a window. */
#include "support/bench.h"
#include "support/path.h"
#include "policies.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_udt_congestion;
extern const struct nopal_microprotocol nopal_tcp_congestion;

enum { MBIT = 1000000, PERCENT = 10000, FEW = 16 * SEG };
enum { RATE_100 = 100 * MBIT };
#define RTT (50 * NOPAL_MILLISECOND)
#define SYN (10 * NOPAL_MILLISECOND)

static int64_t rate(void)
{
	return *bench_shared("sending_rate_bps");
}

static void place(void)
{
	bench_place(&nopal_udt_congestion);
	*bench_parameter("initial") = FEW;
	*bench_parameter("interval") = SYN;
	bench_begin();
	bench.session->now_ns = NOPAL_SECOND;
}

static void begin(void)
{
	place();
	*bench_shared("smoothed_rtt_ns") = RTT;
	*bench_shared("minimum_rtt_ns") = RTT;
}

static struct nopal_segment *leave(void)
{
	struct nopal_segment *segment = calloc(1, sizeof(*segment) + BENCH_SLOTS * 8);

	segment->body.length = SEG;
	segment->packet_number = bench.next_packet++;
	segment->transmitted_ns = bench.session->now_ns;
	segment->transmissions = 1;
	*bench_shared("bytes_in_flight") += SEG;
	bench_raise(NOPAL_SEND_SEGMENT, segment);
	return segment;
}

static void arrive(struct nopal_segment *segment, bool tell)
{
	bench_raise(NOPAL_SEGMENT_RECEIVED, segment);
	if (tell)
		bench_ack(segment->packet_number, SEG);
	*bench_shared("bytes_in_flight") -= SEG;
	free(segment);
}

/* Segments leave at this rate for ROUNDS round trips, and each arrives after one. */
enum { ROUNDS = 3 };
static void deliver(int64_t bps)
{
	int64_t count = bps / 8 * RTT / NOPAL_SECOND / SEG;
	int64_t began_ns = bench.session->now_ns;
	struct nopal_segment **sent = calloc((size_t)(count * ROUNDS), sizeof(*sent));

	for (int64_t i = 0; i < (ROUNDS + 1) * count; i++) {
		bench.session->now_ns = began_ns + i * RTT / count;
		if (i >= count)
			arrive(sent[i - count], i % 8 == 7);
		if (i < ROUNDS * count)
			sent[i] = leave();
	}
	free(sent);
	bench.oldest_packet = bench.next_packet;
}

/* Slow start is over, and the rate is what arrived. */
static void settle(int64_t bps)
{
	begin();
	deliver(bps);
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	bench.oldest_packet = bench.next_packet;
}

/* An ack after so long, without anything that arrived. */
static void ack_after(int64_t duration_ns)
{
	bench.session->now_ns += duration_ns;
	bench_ack(bench.next_packet, SEG);
}

/* The end of an interval in which nothing was lost. */
static int64_t step(void)
{
	int64_t before;

	ack_after(SYN);
	before = rate();
	ack_after(SYN);
	return rate() - before;
}

static void queue(int64_t duration_ns)
{
	*bench_shared("smoothed_rtt_ns") = RTT + duration_ns;
}

static void lose(void)
{
	bench.session->now_ns++;
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet++);
	bench.oldest_packet = bench.next_packet;
}

TEST(test_slow_start_doubles_and_the_rate_spreads_it)
{
	begin();
	assert_int_equal(window(), FEW);
	assert_int_equal(rate(), 0);
	bench_ack(1, FEW);
	assert_int_equal(window(), 2 * FEW);
	assert_int_equal(rate(), 2 * window() * 8 * 1000 / 60);
	bench_ack(2, 2 * FEW);
	assert_int_equal(window(), 4 * FEW);
	*bench_shared("app_limited") = 1;
	bench_ack(3, 4 * FEW);
	assert_int_equal(window(), 4 * FEW);
	bench_close();
}

TEST(test_the_first_loss_leaves_what_arrived)
{
	settle(40 * MBIT);
	assert_in_range(rate(), 38 * MBIT, 42 * MBIT);
	/* ... and a window of it, for a round trip and an interval. */
	assert_in_range(window(), FEW + rate() / 8 * 60 / 1000 - 10,
			FEW + rate() / 8 * 60 / 1000 + 10);
	bench_close();
}

TEST(test_where_nothing_arrived_the_window_is_what_is_known)
{
	begin();
	lose();
	assert_in_range(rate(), (int64_t)FEW * 8 * 1000 / 60 * 8 / 9 - 2,
			(int64_t)FEW * 8 * 1000 / 60 * 8 / 9 + 2);
	bench_close();
}

TEST(test_a_new_event_takes_a_ninth)
{
	int64_t before;

	settle(40 * MBIT);
	before = rate();
	lose();
	assert_in_range(rate(), before * 8 / 9 - 1, before * 8 / 9 + 1);
	lose();
	assert_in_range(rate(), before * 64 / 81 - 2, before * 64 / 81 + 2);
	bench_close();
}

/* Of what was out at the reduction: one in so many reports, five at most. */
TEST(test_an_event_takes_about_half_at_most)
{
	int64_t before;

	settle(40 * MBIT);
	bench.next_packet += 1000;
	before = rate();
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - 1);
	for (uint64_t i = 2; i < 500; i++) {
		bench.session->now_ns++;
		bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - i);
	}
	assert_in_range(rate(), before * 32768 / 59049 - 10, before * 32768 / 59049 + 10);
	bench_close();
}

TEST(test_what_one_turn_reports_is_one_report)
{
	int64_t before;

	settle(40 * MBIT);
	bench.session->now_ns++;
	bench.next_packet += 1000;
	before = rate();
	for (uint64_t i = 1; i < 500; i++)
		bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - i);
	assert_in_range(rate(), before * 8 / 9 - 1, before * 8 / 9 + 1);
	bench_close();
}

/* Reports of the flood at the end of slow start are of the same loss. */
TEST(test_the_end_of_slow_start_reduces_once)
{
	int64_t then;

	begin();
	deliver(40 * MBIT);
	bench.next_packet += 1000;
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - 1);
	then = rate();
	for (uint64_t i = 2; i < 500; i++) {
		bench.session->now_ns++;
		bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - i);
	}
	assert_int_equal(rate(), then);
	bench_close();
}

/* How many of the first reports of an event pass before the second reduction, once events have
 * many. */
static int patience(void)
{
	int64_t then;
	int reports = 0;

	bench.session->now_ns++;
	bench.next_packet += 1000;
	*bench_shared("sending_rate_bps") = 40 * MBIT;
	bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - 1);
	for (then = rate(); rate() == then && reports < 900; reports++) {
		bench.session->now_ns++;
		bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - 2);
	}
	for (int i = reports; i < 40; i++) {
		bench.session->now_ns++;
		bench_status(NOPAL_SEGMENT_LOST, bench.next_packet - 2);
	}
	return reports;
}

TEST(test_the_draw_goes_by_the_mean_of_reports)
{
	int min = 1000, max = 0;

	settle(40 * MBIT);
	assert_int_equal(patience(), 1);
	for (int i = 0; i < 50; i++)
		patience();
	for (int i = 0; i < 200; i++) {
		int reports = patience();

		min = reports < min ? reports : min;
		max = reports > max ? reports : max;
	}
	assert_in_range(min, 1, 3);
	assert_in_range(max, 30, 42);
	bench_close();
}

/* 1.5 millionths of the next power of ten, in bytes, every 10 ms; where no queue
 * stands, twice what arrived is what there is. */
TEST(test_steps_by_what_is_left)
{
	settle(40 * MBIT); /* 40 are left: 10^8 */
	assert_in_range(step(), 119000, 121000);
	bench_close();
	settle(8 * MBIT); /* 8: 10^7 */
	assert_in_range(step(), 11900, 12100);
	bench_close();
	settle(2 * MBIT); /* 2, but 10 are taken to be there */
	assert_in_range(step(), 11900, 12100);
	queue(RTT);
	assert_int_equal(step(), 800);
	bench_close();
}

TEST(test_where_a_queue_stands_nothing_is_left)
{
	settle(40 * MBIT);
	queue(RTT);
	assert_int_equal(step(), 800);
	bench_close();
}

/* Below the rate that a queue was lost from, a ninth of the capacity counts at most; what is lost
 * without a queue does not tell where the link ends. */
TEST(test_no_haste_below_the_last_reduction)
{
	settle(40 * MBIT);
	queue(RTT);
	for (int i = 0; i < 10; i++)
		lose(); /* 31 % of the rate: 27 are left, 4.4 count */
	assert_in_range(step(), 11900, 12100);
	queue(0);
	assert_in_range(step(), 11900, 12100);
	lose();
	assert_in_range(step(), 119000, 121000);
	bench_close();
}

/* ... nor little above it: that there is no queue tells of a change further up. */
TEST(test_caution_ends_an_eighth_above)
{
	int64_t filled;

	settle(40 * MBIT);
	queue(RTT);
	filled = rate();
	lose();
	queue(0);
	*bench_shared("sending_rate_bps") = filled / 8 * 9 - 100000;
	assert_in_range(step(), 11900, 12100);
	*bench_shared("sending_rate_bps") = filled / 8 * 9 + 100000;
	assert_in_range(step(), 119000, 121000);
	bench_close();
}

/* The window at which slow start sent in vain is none to come back to. */
TEST(test_after_slow_start_caution_is_about_what_arrived)
{
	begin();
	deliver(40 * MBIT);
	*bench_shared("sending_rate_bps") = RATE_100;
	queue(RTT);
	lose();
	queue(0);
	*bench_shared("sending_rate_bps") = 40 * MBIT / 8 * 9 + 2 * MBIT;
	assert_in_range(step(), 119000, 121000);
	bench_close();
}

TEST(test_one_step_an_interval_and_none_after_a_loss)
{
	int64_t then;

	settle(40 * MBIT);
	step();
	then = rate();
	ack_after(SYN / 2);
	assert_int_equal(rate(), then);
	ack_after(SYN / 2);
	assert_true(rate() > then);
	lose();
	then = rate();
	ack_after(SYN);
	assert_int_equal(rate(), then);
	ack_after(SYN);
	assert_true(rate() > then);
	*bench_shared("app_limited") = 1;
	then = rate();
	ack_after(SYN);
	assert_int_equal(rate(), then);
	bench_close();
}

TEST(test_the_window_follows_what_arrives)
{
	int64_t min;

	settle(40 * MBIT);
	for (int i = 0; i < 20; i++)
		deliver(16 * MBIT);
	min = FEW + 16 * MBIT / 8 * 60 / 1000;
	assert_in_range(window(), min - 10 * SEG, min + 10 * SEG);
	bench_close();
}

TEST(test_a_timeout_closes_the_window)
{
	int64_t before;

	settle(40 * MBIT);
	before = rate();
	bench.session->now_ns++;
	bench.next_packet += 100;
	for (uint64_t i = 100; i > 0; i--)
		bench_status(NOPAL_SEGMENT_TIMEOUT, bench.next_packet - i);
	assert_int_equal(window(), FEW);
	assert_in_range(rate(), before * 8 / 9 - 1, before * 8 / 9 + 1);
	/* The first that arrives opens it. */
	ack_after(SYN);
	assert_true(window() > 10 * FEW);
	bench_close();
}

TEST(test_never_below_two_segments_a_round_trip)
{
	settle(40 * MBIT);
	for (int i = 0; i < 200; i++)
		lose();
	assert_int_equal(rate(), 2 * SEG * 8 * 1000 / 60);
	bench_close();
}

/* Congestion without a loss: as one loss, once a round trip. */
TEST(test_a_mark_counts_as_a_loss)
{
	int64_t then;

	settle(40 * MBIT);
	bench.session->now_ns++;
	bench.next_packet += 100;
	bench.oldest_packet = bench.next_packet - 50;
	then = rate();
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	assert_in_range(rate(), then * 8 / 9 - 1, then * 8 / 9 + 1);
	then = rate();
	for (int i = 0; i < 100; i++) {
		bench.session->now_ns++;
		bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	}
	assert_int_equal(rate(), then);
	bench.next_packet++;
	bench.oldest_packet = bench.next_packet;
	bench_raise(NOPAL_CONGESTION_MARKED, NULL);
	assert_true(rate() < then);
	bench_close();
}

/* ---------------------------------------------------------- against a bottleneck */

static int64_t percent_of_a_path(const struct nopal_microprotocol *policy, int64_t bps,
				 uint32_t loss_ppm)
{
	int64_t percent;

	if (policy == &nopal_udt_congestion) {
		place();
		bench.session->now_ns = 0;
	} else {
		bench_place(policy);
		*bench_parameter("initial") = 10 * SEG;
		*bench_parameter("variant") = 2;
		bench_begin();
	}
	path_begin(bps, 25 * NOPAL_MILLISECOND, 400, loss_ppm);
	path_run(10 * NOPAL_SECOND);
	percent = path_percent(30 * NOPAL_SECOND);
	return percent;
}

TEST(test_fills_paths)
{
	static const int64_t paths[] = { 2 * MBIT, 20 * MBIT, RATE_100 };

	for (int i = 0; i < 3; i++) {
		int64_t percent = percent_of_a_path(&nopal_udt_congestion, paths[i], 0);

		print_message("%lld bit/s: %lld %%\n", (long long)paths[i], (long long)percent);
		assert_in_range(percent, 85, 101);
		path_end();
	}
}

TEST(test_random_loss_hurts_less_than_newreno)
{
	int64_t udt, newreno;

	udt = percent_of_a_path(&nopal_udt_congestion, RATE_100, PERCENT / 10);
	path_end();
	newreno = percent_of_a_path(&nopal_tcp_congestion, RATE_100, PERCENT / 10);
	path_end();
	print_message("at 0.1 %% loss: %lld %%, newreno %lld %%\n", (long long)udt,
		      (long long)newreno);
	assert_true(udt > 2 * newreno);
}

/* Knowledge of a path is forgotten where it is true no more. */
TEST(test_a_path_that_becomes_slower)
{
	percent_of_a_path(&nopal_udt_congestion, RATE_100, 0);
	path.rate_bps = 10 * MBIT;
	path_run(10 * NOPAL_SECOND);
	path.overflowed = 0;
	path.transmissions = 0;
	assert_in_range(path_percent(30 * NOPAL_SECOND), 80, 101);
	/* Not one in fifty is sent in vain. */
	assert_true(path.overflowed * 50 < path.transmissions);
	path.rate_bps = RATE_100;
	path_run(20 * NOPAL_SECOND);
	assert_in_range(path_percent(20 * NOPAL_SECOND), 80, 101);
	path_end();
}
