/* SPDX-License-Identifier: MIT */
/* test_bbr_congestion -- bottlenecks of many kinds, and what samples may say. */
#include "../support/bench.h"
#include "../support/path.h"
#include "../../microprotocols/congestion/ack_burst.h"
#include "../../microprotocols/congestion/ack_train.h"
#include "../../microprotocols/congestion/delivery_rate.h"
#include "../../microprotocols/congestion/largest_rate.h"
#include "../../microprotocols/congestion/random_loss.h"
#include "../../microprotocols/congestion/standing_queue.h"

extern const struct nopal_microprotocol nopal_bbr_congestion;

enum { SEG = BENCH_BODY, PERCENT = 10000, MBIT = 1000000 };
#define MS NOPAL_MILLISECOND

static int64_t window(void)
{
	return *bench_shared("congestion_window_bytes");
}

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

static void begin_path(int64_t rate_bps, int64_t delay_ns, uint32_t limit,
		       uint32_t loss_ppm)
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

static void test_fills_the_link_whatever_gets_lost(void **state)
{
	static const uint32_t percent[] = { 0, 1, 5, 10, 15, 25 };

	(void)state;
	for (size_t i = 0; i < sizeof(percent) / sizeof(percent[0]); i++) {
		begin_path(100 * MBIT, 25 * MS, 400, percent[i] * PERCENT);
		path_run(2 * NOPAL_SECOND);
		assert_in_range(path_percent(10 * NOPAL_SECOND), 97, 103);
		assert_int_equal(path.timeouts, 0);
		path_end();
	}
}

static void test_keeps_the_queue_short(void **state)
{
	(void)state;
	begin_path(100 * MBIT, 25 * MS, 4000, 0);
	path_run(NOPAL_SECOND);
	assert_in_range(path.queue_most_ns, 0, 60 * MS);
	forget_queue();
	path_run(10 * NOPAL_SECOND);
	assert_in_range(path_mean_queue_ns(), 0, 8 * MS);
	assert_in_range(path.queue_most_ns, 0, 25 * MS);
	path_end();
}

/* A product is 430 segments: 64 of them tell the rate, and three round trips
 * are enough to fill it; what startup puts into the queue is less than that. */
static void test_the_first_window_tells_the_rate(void **state)
{
	(void)state;
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

/* At heavy loss an estimate is a little too large now and then: what that puts
 * into the queue is gone with the next slow phase. */
static void test_a_slow_phase_takes_the_queue_away(void **state)
{
	(void)state;
	begin_path(100 * MBIT, 25 * MS, 4000, 20 * PERCENT);
	path_run(3 * NOPAL_SECOND);
	forget_queue();
	assert_in_range(path_percent(20 * NOPAL_SECOND), 97, 103);
	assert_in_range(path_mean_queue_ns(), 0, 6 * MS);
	path_end();
}

static void test_without_compensation_it_is_bbr(void **state)
{
	int64_t percent;

	(void)state;
	begin();
	*bench_parameter("compensate") = 0;
	path_begin(100 * MBIT, 25 * MS, 400, 15 * PERCENT);
	path_run(2 * NOPAL_SECOND);
	percent = path_percent(10 * NOPAL_SECOND);
	assert_in_range(percent, 75, 92);
	path_end();
}

static void test_congestive_loss_is_not_made_up_for(void **state)
{
	(void)state;
	/* A queue of a twentieth of the product: probing overflows it. */
	begin_path(100 * MBIT, 25 * MS, 30, 0);
	path_run(2 * NOPAL_SECOND);
	path.overflowed = 0;
	path.departures = 0;
	assert_in_range(path_percent(10 * NOPAL_SECOND), 95, 101);
	assert_true(path.overflowed * 100 < path.departures * 8);
	path_end();
}

static void test_random_loss_that_ends_is_forgotten(void **state)
{
	(void)state;
	begin_path(100 * MBIT, 25 * MS, 2000, 20 * PERCENT);
	path_run(8 * NOPAL_SECOND);
	path.loss_ppm = 0;
	path_run(5 * NOPAL_SECOND);
	forget_queue();
	assert_in_range(path_percent(5 * NOPAL_SECOND), 97, 101);
	assert_in_range(path_mean_queue_ns(), 0, 20 * MS);
	path_end();
}

static void test_follows_the_rate_up_and_down(void **state)
{
	(void)state;
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

static void test_many_paths(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (uint32_t loss = 0; loss <= 10; loss += 10) {
			begin_path(paths[i].rate_bps, paths[i].delay_ns,
				   paths[i].limit, loss * PERCENT);
			path_run(5 * NOPAL_SECOND);
			assert_in_range(path_percent(8 * NOPAL_SECOND), 92,
					106);
			path_end();
		}
}

static void test_probes_the_round_trip(void **state)
{
	int64_t least = INT64_MAX;
	int64_t low_ns = 0;

	(void)state;
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

static void test_silence_closes_the_window_and_acks_open_it(void **state)
{
	(void)state;
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

static void test_idle_does_not_lose_the_bandwidth(void **state)
{
	int64_t before;

	(void)state;
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

static void test_begins_with_the_initial_window_and_no_rate(void **state)
{
	(void)state;
	begin();
	assert_int_equal(window(), 10 * SEG);
	assert_int_equal(rate(), 0);
	bench_close();
}

static void test_an_ack_without_segments_says_nothing(void **state)
{
	(void)state;
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
	*bench_shared("latest_rtt_ns") =
		bench.session->now_ns - segment->departed_ns;
	bench_ack(segment->packet_number, SEG);
}

static void test_the_first_sample_sets_the_pace(void **state)
{
	struct nopal_segment *segment;

	(void)state;
	begin();
	segment = depart();
	bench.session->now_ns += 10 * MS;
	receive(segment);
	/* Ten segments a round trip, times 2.77. */
	assert_int_equal(rate(), INT64_C(10) * SEG * 8 * 100 * 277 / 100);
	bench_close();
}

static void test_too_short_an_interval_is_no_sample(void **state)
{
	struct nopal_segment *segment;
	int64_t before;

	(void)state;
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

static void test_window_is_never_below_four(void **state)
{
	(void)state;
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

/* ------------------------------------------------------------ what acks tell */

static void test_a_train_of_acks_has_the_rate_of_the_bottleneck(void **state)
{
	struct ack_train train = { 0 };

	(void)state;
	/* The first stands for four segments at once, which say nothing. */
	for (unsigned i = 0; i < ACK_TRAIN_FEW; i++) {
		assert_int_equal(train.rate_bps, 0);
		ack_train_note(&train, 50 * MS + i * MS, (4 + i) * 1000);
	}
	assert_int_equal(train.rate_bps, 8 * MBIT);
	/* Many at one moment tell of no rate. */
	train = (struct ack_train){ 0 };
	for (unsigned i = 0; i < 2 * ACK_TRAIN_FEW; i++)
		ack_train_note(&train, 50 * MS, i * 1000);
	assert_int_equal(train.rate_bps, 0);
}

static void test_startup_goes_to_the_rate_of_the_train(void **state)
{
	struct ack_train train = { 0 };

	(void)state;
	assert_int_equal(ack_train_pace(&train, 10, 277), 277);
	train.rate_bps = 1000;
	assert_int_equal(ack_train_pace(&train, 10, 277), 1000);
	assert_int_equal(ack_train_pace(&train, 400, 1108), 1108);
	assert_int_equal(ack_train_pace(&train, 900, 2493), 1500);
	assert_int_equal(ack_train_pace(&train, 4000, 11080), 6000);
}

static void test_a_queue_that_stands_a_round_trip(void **state)
{
	struct standing_queue queue;

	(void)state;
	standing_queue_begin(&queue);
	for (int64_t now = 0; now < 80 * MS; now += MS) {
		standing_queue_note(&queue, now, 80 * MS, 40 * MS);
		assert_false(queue.stands);
	}
	standing_queue_note(&queue, 80 * MS, 0, 40 * MS);
	assert_false(queue.stands);
	standing_queue_note(&queue, 80 * MS, 80 * MS, 40 * MS);
	assert_true(queue.stands);
	/* One that met no queue, and it has to last again. */
	standing_queue_note(&queue, 81 * MS, 55 * MS, 40 * MS);
	assert_false(queue.stands);
	standing_queue_note(&queue, 120 * MS, 56 * MS, 40 * MS);
	assert_false(queue.stands);
	standing_queue_note(&queue, 176 * MS, 56 * MS, 40 * MS);
	assert_true(queue.stands);
}

static void test_the_largest_rate_is_kept_for_ten_rounds(void **state)
{
	struct largest_rate rates = { { 0 } };

	(void)state;
	assert_int_equal(largest_rate_keep(&rates, 1, 500), 500);
	assert_int_equal(largest_rate_keep(&rates, 1, 300), 500);
	for (uint64_t round = 2; round <= LARGEST_RATE_ROUNDS; round++)
		assert_int_equal(largest_rate_keep(&rates, round, 100), 500);
	assert_int_equal(
		largest_rate_keep(&rates, LARGEST_RATE_ROUNDS + 1, 100), 100);
}

static void test_bursts_of_acks_are_remembered_for_two_turns(void **state)
{
	struct ack_burst burst = { 0 };

	(void)state;
	ack_burst_note(&burst, MS, 9000, 8 * MBIT, 5000);
	assert_int_equal(ack_burst_largest(&burst), 5000);
	ack_burst_turn(&burst);
	ack_burst_note(&burst, 10 * MS, 9500, 8 * MBIT, 5000);
	ack_burst_note(&burst, 11 * MS, 12500, 8 * MBIT, 5000);
	assert_int_equal(ack_burst_largest(&burst), 5000);
	ack_burst_turn(&burst);
	assert_int_equal(ack_burst_largest(&burst), 2000);
}

/* -------------------------------------------------------------- random loss */

/* Of two departures the later one takes half the time, over and over. */
static void test_overtakers_do_not_make_the_round_trip(void **state)
{
	struct delivery delivery = { .largest_number = 0 };
	int64_t usual_ns = 0;

	(void)state;
	begin();
	for (int i = 0; i < DELIVERY_RTT_BATCH; i++) {
		struct nopal_segment *slow = depart();
		struct nopal_segment *fast = depart();
		bool turned_out;

		bench.session->now_ns += 25 * MS;
		assert_false(delivery_note_rtt(bench.session, &delivery, fast));
		delivery.largest_number = fast->packet_number;
		usual_ns = delivery_usual_rtt(&delivery, 25 * MS);
		assert_true(i == 0 || usual_ns == 0 || usual_ns == 50 * MS);
		bench.session->now_ns += 25 * MS;
		turned_out = delivery_note_rtt(bench.session, &delivery, slow);
		assert_int_equal(turned_out, i == 0);
	}
	assert_int_equal(delivery_usual_rtt(&delivery, 25 * MS), 50 * MS);
	assert_int_equal(delivery_usual_rtt(&delivery, 25 * MS), 0);
	bench_close();
}

static void test_in_order_the_newest_is_the_round_trip(void **state)
{
	struct delivery delivery = { .largest_number = 0 };

	(void)state;
	begin();
	for (int i = 0; i < 2 * DELIVERY_RTT_BATCH; i++) {
		struct nopal_segment *segment = depart();

		bench.session->now_ns += 50 * MS;
		assert_false(
			delivery_note_rtt(bench.session, &delivery, segment));
		delivery.largest_number = segment->packet_number;
		assert_int_equal(delivery_usual_rtt(&delivery, 50 * MS),
				 50 * MS);
	}
	bench_close();
}

static void count(struct random_loss *loss, int segments, int lost, bool queued)
{
	struct nopal_segment *segment = bench_segment(SEG);

	for (int i = 0; i < segments; i++)
		random_loss_count(loss, segment, i < lost);
	random_loss_end_ack(bench.session, loss, queued);
}

static void test_random_share(void **state)
{
	struct random_loss loss = { 0 };

	(void)state;
	begin();
	assert_int_equal(random_loss_share(bench.session, &loss), 0);
	count(&loss, 4, 4, false); /* few: 4 of 64 at the most */
	assert_int_equal(random_loss_share(bench.session, &loss), 62500);
	count(&loss, 96, 6, false);
	assert_int_equal(random_loss_share(bench.session, &loss), 100000);
	/* Seen with a queue: free of loss. */
	count(&loss, 100, 50, true);
	assert_int_equal(random_loss_share(bench.session, &loss), 50000);
	count(&loss, 500, 500, false);
	assert_int_equal(random_loss_share(bench.session, &loss), 333333);
	bench_close();
}

static void test_random_share_forgets(void **state)
{
	struct random_loss loss = { 0 };

	(void)state;
	begin();
	for (int i = 0; i < 40; i++)
		count(&loss, 100, 10, false);
	assert_in_range(random_loss_share(bench.session, &loss), 99000, 101000);
	for (int i = 0; i < 40; i++)
		count(&loss, 100, 0, false);
	assert_in_range(random_loss_share(bench.session, &loss), 0, 5000);
	bench_close();
}

static void test_what_a_sample_may_claim(void **state)
{
	struct random_loss loss = { 0 };

	(void)state;
	begin();
	assert_int_equal(random_loss_passed(bench.session, &loss, 900, 100),
			 900);
	count(&loss, 100, 10, false);
	assert_int_equal(random_loss_passed(bench.session, &loss, 900, 100),
			 1000);
	/* Up to 12.5 % of the whole, and no more. */
	assert_int_equal(random_loss_passed(bench.session, &loss, 875, 500),
			 1000);
	assert_int_equal(random_loss_passed(bench.session, &loss, 0, 500), 0);
	bench_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fills_the_link_whatever_gets_lost),
		cmocka_unit_test(test_keeps_the_queue_short),
		cmocka_unit_test(test_the_first_window_tells_the_rate),
		cmocka_unit_test(test_a_slow_phase_takes_the_queue_away),
		cmocka_unit_test(test_without_compensation_it_is_bbr),
		cmocka_unit_test(test_congestive_loss_is_not_made_up_for),
		cmocka_unit_test(test_random_loss_that_ends_is_forgotten),
		cmocka_unit_test(test_follows_the_rate_up_and_down),
		cmocka_unit_test(test_many_paths),
		cmocka_unit_test(test_probes_the_round_trip),
		cmocka_unit_test(
			test_silence_closes_the_window_and_acks_open_it),
		cmocka_unit_test(test_idle_does_not_lose_the_bandwidth),
		cmocka_unit_test(
			test_begins_with_the_initial_window_and_no_rate),
		cmocka_unit_test(test_an_ack_without_segments_says_nothing),
		cmocka_unit_test(test_the_first_sample_sets_the_pace),
		cmocka_unit_test(test_too_short_an_interval_is_no_sample),
		cmocka_unit_test(test_window_is_never_below_four),
		cmocka_unit_test(
			test_a_train_of_acks_has_the_rate_of_the_bottleneck),
		cmocka_unit_test(test_startup_goes_to_the_rate_of_the_train),
		cmocka_unit_test(test_a_queue_that_stands_a_round_trip),
		cmocka_unit_test(test_the_largest_rate_is_kept_for_ten_rounds),
		cmocka_unit_test(
			test_bursts_of_acks_are_remembered_for_two_turns),
		cmocka_unit_test(test_overtakers_do_not_make_the_round_trip),
		cmocka_unit_test(test_in_order_the_newest_is_the_round_trip),
		cmocka_unit_test(test_random_share),
		cmocka_unit_test(test_random_share_forgets),
		cmocka_unit_test(test_what_a_sample_may_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
