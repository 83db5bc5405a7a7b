/* SPDX-License-Identifier: MIT */
/* test_bbr_model -- the parts of bbr_congestion's model of a path, and what each may conclude from
 * what. */
#include "support/bench.h"
#include "../../microprotocols/congestion/bbr_filters.h"
#include "../../microprotocols/congestion/delivery_rate.h"
#include "../../microprotocols/congestion/random_loss.h"
#include "../../microprotocols/congestion/standing_queue.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_bbr_congestion;
extern const struct nopal_microprotocol nopal_loss_compensation;
extern const struct nopal_microprotocol nopal_standing_queue;
extern const struct nopal_microprotocol nopal_usual_rtt;

enum { SEG = BENCH_BODY, MBIT = 1000000 };
#define MS NOPAL_MILLISECOND

static void begin(void)
{
	bench_place(&nopal_bbr_congestion);
	bench_begin();
}

/* ------------------------------------------------------------ what acks tell */

TEST(test_a_train_of_acks_has_the_rate_of_the_bottleneck)
{
	struct ack_train train = { 0 };

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

TEST(test_startup_exceeds_the_train_by_half)
{
	struct ack_train train = { 0 };

	assert_int_equal(ack_train_max(&train, 400), 0);
	train.rate_bps = 1000;
	assert_int_equal(ack_train_max(&train, 400), 1500);
	assert_int_equal(ack_train_max(&train, 4000), 6000);
}

TEST(test_a_queue_that_stands_a_round_trip)
{
	struct standing_queue queue;

	standing_queue_begin(&queue);
	for (int64_t now = 0; now < 80 * MS; now += MS) {
		standing_queue_note(&queue, now, 80 * MS, 40 * MS);
		assert_false(queue.stands);
	}
	standing_queue_note(&queue, 80 * MS, 0, 40 * MS);
	assert_false(queue.stands);
	standing_queue_note(&queue, 80 * MS, 80 * MS, 40 * MS);
	assert_true(queue.stands);
	/* A round trip that met no queue: the queue has to last again. */
	standing_queue_note(&queue, 81 * MS, 55 * MS, 40 * MS);
	assert_false(queue.stands);
	standing_queue_note(&queue, 120 * MS, 56 * MS, 40 * MS);
	assert_false(queue.stands);
	standing_queue_note(&queue, 176 * MS, 56 * MS, 40 * MS);
	assert_true(queue.stands);
}

TEST(test_the_largest_rate_is_kept_for_ten_rounds)
{
	struct largest_rate rates = { { 0 } };

	assert_int_equal(largest_rate_keep(&rates, 1, 500), 500);
	assert_int_equal(largest_rate_keep(&rates, 1, 300), 500);
	for (uint64_t round = 2; round <= LARGEST_RATE_ROUNDS; round++)
		assert_int_equal(largest_rate_keep(&rates, round, 100), 500);
	assert_int_equal(largest_rate_keep(&rates, LARGEST_RATE_ROUNDS + 1, 100), 100);
}

TEST(test_bursts_of_acks_are_remembered_for_two_turns)
{
	struct ack_burst burst = { 0 };

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

TEST(test_a_round_trip_of_long_ago_is_replaced)
{
	struct min_rtt min = { 0 };

	assert_false(min_rtt_take(&min, NOPAL_SECOND, 10 * MS));
	assert_false(min_rtt_take(&min, 2 * NOPAL_SECOND, 30 * MS));
	assert_int_equal(min.ns, 10 * MS);
	/* Too old, and replaced when there is a sample. */
	assert_true(min_rtt_take(&min, 12 * NOPAL_SECOND, 0));
	min.found_ns = 12 * NOPAL_SECOND;
	assert_false(min_rtt_take(&min, 13 * NOPAL_SECOND, 30 * MS));
	assert_int_equal(min.ns, 30 * MS);
}

TEST(test_a_pipe_is_full_without_growth)
{
	struct full_pipe pipe;

	full_pipe_begin(&pipe);
	for (uint64_t bps = 1000; bps < 64000; bps *= 2)
		full_pipe_note(&pipe, true, bps);
	for (int i = 0; i < FULL_PIPE_ROUNDS; i++) {
		assert_false(pipe.full);
		full_pipe_note(&pipe, false, 33000);
		full_pipe_note(&pipe, true, 33000);
	}
	assert_true(pipe.full);
}

/* Ten segments, of which the ack that tells of them overtook others by six. */
TEST(test_what_came_early_is_not_the_bandwidth)
{
	struct delivery delivery = { .delivered = 10 * SEG };

	delivery.sample.early = 6 * SEG;
	assert_int_equal(delivery_amount(&delivery, UINT64_MAX), 10 * SEG);
	assert_int_equal(delivery_amount(&delivery, 6 * SEG), 10 * SEG);
	assert_int_equal(delivery_amount(&delivery, 5 * SEG), 4 * SEG);
	delivery.sample.early = 12 * SEG;
	assert_int_equal(delivery_amount(&delivery, 0), 0);
}

static void count(struct random_loss *loss, int segments, int lost, bool queued)
{
	struct nopal_segment *segment = bench_segment(SEG);

	for (int i = 0; i < segments; i++)
		random_loss_count(loss, segment, i < lost);
	random_loss_end_ack(bench.session, loss, queued);
}

TEST(test_random_share)
{
	struct random_loss loss = { 0 };

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

TEST(test_random_share_forgets)
{
	struct random_loss loss = { 0 };

	begin();
	for (int i = 0; i < 40; i++)
		count(&loss, 100, 10, false);
	assert_in_range(random_loss_share(bench.session, &loss), 99000, 101000);
	for (int i = 0; i < 40; i++)
		count(&loss, 100, 0, false);
	assert_in_range(random_loss_share(bench.session, &loss), 0, 5000);
	bench_close();
}

TEST(test_what_a_sample_may_claim)
{
	struct random_loss loss = { 0 };

	begin();
	assert_int_equal(random_loss_passed(bench.session, &loss, 900, 100), 900);
	count(&loss, 100, 10, false);
	assert_int_equal(random_loss_passed(bench.session, &loss, 900, 100), 1000);
	/* Up to 12.5 % of the whole, and no more. */
	assert_int_equal(random_loss_passed(bench.session, &loss, 875, 500), 1000);
	assert_int_equal(random_loss_passed(bench.session, &loss, 0, 500), 0);
	bench_close();
}

/* ----------------------------------------------------- parts that modify it */

static void arrive(uint64_t number, int64_t rtt_ns)
{
	struct nopal_segment *segment = bench_segment(SEG);

	segment->packet_number = number;
	segment->transmissions = 1;
	segment->transmitted_ns = bench.session->now_ns - rtt_ns;
	bench_raise(NOPAL_SEGMENT_RECEIVED, segment);
}

/* The usual RTT that the part tells after an ack of transmission `largest`. */
static int64_t usual_after(uint64_t largest, int64_t rtt_ns)
{
	*bench_shared("latest_rtt_ns") = rtt_ns;
	bench_ack(largest, SEG);
	return *bench_shared("usual_rtt_ns");
}

/* Of two transmissions the later one takes half the time, over and over. */
TEST(test_overtakers_do_not_make_the_round_trip)
{
	int samples = 0;

	bench_place(&nopal_usual_rtt);
	bench.session->now_ns = NOPAL_SECOND;
	for (uint64_t i = 0; i < 128; i++) {
		int64_t usual_ns;

		arrive(2 * i + 1, 25 * MS);
		usual_ns = usual_after(2 * i + 1, 25 * MS);
		arrive(2 * i, 50 * MS);
		assert_int_equal(*bench_shared("overtaken_rtt_ns"), 50 * MS);
		if (i == 0 || usual_ns == 0)
			continue;
		assert_int_equal(usual_ns, 50 * MS);
		samples++;
	}
	assert_int_equal(samples, 3);
	/* An answer after much less than the round trip usual now came early. */
	*bench_shared("latest_rtt_ns") = 64 * MS;
	arrive(1000, 50 * MS);
	assert_int_equal(*bench_shared("early_rtt_ns"), 62 * MS);
	bench_close();
}

TEST(test_in_order_the_largest_of_four_is_the_round_trip)
{
	bench_place(&nopal_usual_rtt);
	bench.session->now_ns = NOPAL_SECOND;
	for (uint64_t i = 1; i < 128; i++) {
		arrive(i, 50 * MS);
		assert_int_equal(usual_after(i, 50 * MS), 50 * MS);
	}
	for (uint64_t i = 128; i < 131; i++)
		assert_int_equal(usual_after(i, 20 * MS), 50 * MS);
	assert_int_equal(usual_after(131, 20 * MS), 20 * MS);
	assert_int_equal(*bench_shared("overtaken_rtt_ns"), 0);
	bench_close();
}

TEST(test_an_ack_that_knows_less_was_overtaken)
{
	bench_place(&nopal_usual_rtt);
	usual_after(100, MS);
	assert_int_equal(*bench_shared("overtaken_rtt_ns"), 0);
	usual_after(99, MS);
	assert_int_equal(*bench_shared("overtaken_rtt_ns"), 1);
	assert_int_equal(*bench_shared("early_most_bytes"), 16 * SEG);
	bench_close();
}

static bool stands_after(int64_t wait_ns, int64_t rtt_ns)
{
	bench.session->now_ns += wait_ns;
	*bench_shared("latest_rtt_ns") = rtt_ns;
	bench_ack(1, SEG);
	return *bench_shared("queue_stands");
}

/* A single message now and then, whose ack waits for company. */
TEST(test_who_has_little_to_send_meets_no_queue)
{
	bench_place(&nopal_standing_queue);
	bench_begin();
	*bench_shared("path_rtt_ns") = 40 * MS;
	*bench_shared("rate_sample_packet") = 1;
	*bench_shared("rate_sample_limited") = 1;
	for (int i = 0; i < 10; i++)
		assert_false(stands_after(100 * MS, 65 * MS));
	*bench_shared("rate_sample_limited") = 0;
	assert_false(stands_after(100 * MS, 65 * MS));
	assert_true(stands_after(65 * MS, 65 * MS));
	/* Where packets overtake, that was no sign. */
	*bench_shared("overtaken_rtt_ns") = 40 * MS;
	assert_false(stands_after(65 * MS, 65 * MS));
	bench_close();
}

/* A sample of one segment that left in a slow phase, while another one was lost. */
static int64_t passed_with(uint64_t late_ns)
{
	struct nopal_segment *segment, *other;
	int64_t passed;

	bench_place(&nopal_loss_compensation);
	*bench_shared("sends_slowly") = 1;
	*bench_shared("path_rtt_ns") = 40 * MS;
	*bench_shared("latest_rtt_ns") = 40 * MS;
	segment = bench_segment(SEG);
	other = bench_segment(SEG);
	segment->packet_number = 1;
	bench_raise(NOPAL_SEND_SEGMENT, segment);
	bench_raise(NOPAL_SEND_SEGMENT, other);
	for (int i = 0; i < 64; i++)
		bench_raise(NOPAL_SEGMENT_LOST, other);
	*bench_attribute(other, 2) = late_ns;
	for (int i = 0; i < 64; i++)
		bench_raise(NOPAL_SEGMENT_RECEIVED, other);
	*bench_shared("rate_sample_packet") = 1;
	bench_raise(NOPAL_SEGMENT_RECEIVED, segment);
	bench_ack(1, SEG);
	passed = *bench_shared("passed_bytes");
	bench_close();
	return passed;
}

TEST(test_what_was_lost_in_vain_does_not_count)
{
	/* A third at most, and a quarter on top of the share. */
	assert_in_range(passed_with(0), 40 * SEG, 50 * SEG);
	assert_int_equal(passed_with(1), 0);
}
