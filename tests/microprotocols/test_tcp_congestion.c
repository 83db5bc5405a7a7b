/* SPDX-License-Identifier: MIT */
/* test_tcp_congestion -- windows against tables made by hand, on the bench. */
#include "policies.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_tcp_congestion;

enum { TAHOE, RENO, NEWRENO };
enum { STEPS = 20000 };

static void begin(int variant, int64_t initial)
{
	bench_place(&nopal_tcp_congestion);
	*bench_parameter("variant") = variant;
	*bench_parameter("initial") = initial;
	bench_begin();
}

/* Out: packets [oldest, next). */
static void outstanding(uint64_t oldest, uint64_t next)
{
	bench.oldest_packet = oldest;
	bench.next_packet = next;
}

TEST(test_slow_start_counts_bytes)
{
	static const int64_t acked[] = { SEG, 2 * SEG, 1, 10 * SEG };
	static const int64_t then[] = { 11 * SEG, 13 * SEG, 13 * SEG + 1, 23 * SEG + 1 };

	begin(NEWRENO, 10 * SEG);
	for (size_t i = 0; i < 4; i++) {
		bench_ack(i, (uint64_t)acked[i]);
		assert_int_equal(window(), then[i]);
	}
	bench_close();
}

TEST(test_no_growth_without_news_or_need)
{
	begin(NEWRENO, 10 * SEG);
	bench_ack(1, 0);
	assert_int_equal(window(), 10 * SEG);
	*bench_shared("app_limited") = 1;
	bench_ack(2, 5 * SEG);
	assert_int_equal(window(), 10 * SEG);
	*bench_shared("app_limited") = 0;
	bench_ack(3, 5 * SEG);
	assert_int_equal(window(), 15 * SEG);
	bench_close();
}

/* A loss: event, number of the packet, acked with the ack after it (largest, oldest out, bytes),
 * and the window then. */
struct step {
	unsigned event; /* 0: an ack */
	uint64_t packet;
	uint64_t oldest, next;
	uint64_t acked;
	int64_t window;
};

static void play(const struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		outstanding(steps[i].oldest, steps[i].next);
		if (steps[i].event)
			bench_status(steps[i].event, steps[i].packet);
		else
			bench_ack(steps[i].packet, steps[i].acked);
		if (window() != steps[i].window)
			fail_msg("step %zu: window %lld, not %lld", i, (long long)window(),
				 (long long)steps[i].window);
	}
}

#define PLAY(steps) play(steps, sizeof(steps) / sizeof((steps)[0]))

TEST(test_newreno)
{
	static const struct step steps[] = {
		{ NOPAL_SEGMENT_LOST, 3, 3, 20, 0, 10 * SEG },
		/* of the same epoch */
		{ NOPAL_SEGMENT_LOST, 7, 5, 22, 0, 10 * SEG },
		{ 0, 12, 8, 22, 5 * SEG, 10 * SEG },
		/* a packet behind the reduction was received: not the end */
		{ 0, 21, 15, 24, 5 * SEG, 10 * SEG },
		{ NOPAL_SEGMENT_LOST, 16, 16, 25, 0, 10 * SEG },
		/* all resolved: recovery ends, and then it grows again */
		{ 0, 24, 20, 26, 5 * SEG, 10 * SEG },
		{ 0, 25, 25, 27, 9 * SEG, 10 * SEG },
		{ 0, 26, 26, 28, 1 * SEG, 11 * SEG },
		/* the next epoch */
		{ NOPAL_SEGMENT_LOST, 27, 27, 30, 0, 5500 },
	};

	begin(NEWRENO, 20 * SEG);
	PLAY(steps);
	bench_close();
}

TEST(test_reno_reduces_for_the_second_loss_of_a_window)
{
	static const struct step steps[] = {
		{ NOPAL_SEGMENT_LOST, 3, 3, 20, 0, 10 * SEG },
		{ NOPAL_SEGMENT_LOST, 7, 5, 22, 0, 10 * SEG },
		/* the resend was received: recovery is over */
		{ 0, 20, 8, 22, 5 * SEG, 10 * SEG },
		{ NOPAL_SEGMENT_LOST, 9, 9, 25, 0, 5 * SEG },
		{ 0, 24, 20, 26, 5 * SEG, 5 * SEG },
		{ 0, 25, 20, 26, 5 * SEG, 5 * SEG },
		{ 0, 25, 20, 26, 5 * SEG, 6 * SEG },
	};

	begin(RENO, 20 * SEG);
	PLAY(steps);
	bench_close();
}

TEST(test_tahoe_starts_slowly_after_any_loss)
{
	static const struct step steps[] = {
		{ NOPAL_SEGMENT_LOST, 3, 3, 20, 0, 1 * SEG },
		{ NOPAL_SEGMENT_LOST, 4, 4, 20, 0, 1 * SEG },
		{ 0, 20, 8, 22, 1 * SEG, 2 * SEG },
		{ 0, 21, 8, 22, 2 * SEG, 4 * SEG },
		/* up to the threshold of ten, the rest counts for avoidance */
		{ 0, 22, 22, 23, 8 * SEG, 10 * SEG },
		{ 0, 23, 23, 24, 8 * SEG, 11 * SEG },
	};

	begin(TAHOE, 20 * SEG);
	PLAY(steps);
	bench_close();
}

TEST(test_timeout)
{
	static const struct step steps[] = {
		{ NOPAL_SEGMENT_TIMEOUT, 3, 3, 20, 0, 1 * SEG },
		{ NOPAL_SEGMENT_TIMEOUT, 4, 4, 20, 0, 1 * SEG },
		{ NOPAL_SEGMENT_LOST, 5, 5, 20, 0, 1 * SEG },
		/* the resend too: the threshold stays */
		{ NOPAL_SEGMENT_TIMEOUT, 20, 20, 21, 0, 1 * SEG },
		{ 0, 21, 21, 22, 1 * SEG, 2 * SEG },
		{ 0, 22, 22, 23, 7 * SEG, 9 * SEG },
		{ 0, 23, 23, 24, 2 * SEG, 10 * SEG },
		{ 0, 24, 24, 25, 9 * SEG, 11 * SEG },
		/* with progress in between it counts anew */
		{ NOPAL_SEGMENT_TIMEOUT, 25, 25, 26, 0, 1 * SEG },
		{ 0, 26, 26, 27, 5 * SEG, 5500 },
	};

	begin(NEWRENO, 20 * SEG);
	PLAY(steps);
	bench_close();
}

TEST(test_a_timeout_ends_recovery)
{
	static const struct step steps[] = {
		{ NOPAL_SEGMENT_LOST, 3, 3, 20, 0, 10 * SEG },
		{ NOPAL_SEGMENT_TIMEOUT, 4, 4, 21, 0, 1 * SEG },
		{ 0, 6, 6, 22, 1 * SEG, 2 * SEG },
		{ 0, 7, 7, 22, 2 * SEG, 4 * SEG },
		{ 0, 8, 8, 22, 1 * SEG, 5 * SEG },
		{ 0, 9, 9, 22, 4 * SEG, 5 * SEG },
		{ 0, 10, 10, 22, 1 * SEG, 6 * SEG },
	};

	begin(NEWRENO, 20 * SEG);
	PLAY(steps);
	bench_close();
}

TEST(test_half_is_at_least_two_segments)
{
	begin(NEWRENO, 3 * SEG);
	outstanding(0, 5);
	bench_status(NOPAL_SEGMENT_LOST, 0);
	assert_int_equal(window(), 2 * SEG);
	outstanding(5, 9);
	bench_status(NOPAL_SEGMENT_LOST, 5);
	assert_int_equal(window(), 2 * SEG);
	bench_close();
}

/* CC2, CC3: at random. */
TEST(test_one_reduction_an_epoch)
{
	uint64_t epoch = 0;

	begin(NEWRENO, 10 * SEG);
	for (int i = 0; i < STEPS; i++) {
		int64_t before = window();

		bench.next_packet += bench_draw() % 20;
		if (bench_draw() % 4)
			bench.oldest_packet +=
				bench_draw() % (bench.next_packet - bench.oldest_packet + 1);
		if (bench_draw() % 8 == 0 && bench.oldest_packet < bench.next_packet) {
			uint64_t lost = bench.oldest_packet;

			bench_status(NOPAL_SEGMENT_LOST, lost);
			if (lost < epoch)
				assert_int_equal(window(), before);
			else
				epoch = bench.next_packet;
		} else {
			bench_ack(bench.next_packet, bench_draw() % 5000);
			assert_true(window() >= before);
		}
		assert_true(window() >= 2 * SEG);
	}
	bench_close();
}

TEST(test_a_mark_counts_as_a_loss)
{
	for (int variant = TAHOE; variant <= NEWRENO; variant++) {
		begin(variant, 40 * SEG);
		check_marks_are_losses(20 * SEG, 10 * SEG, variant == TAHOE ? SEG : 2 * SEG);
		bench_close();
	}
}

TEST(test_a_mark_after_a_timeout_takes_nothing)
{
	for (int variant = TAHOE; variant <= NEWRENO; variant++) {
		begin(variant, 40 * SEG);
		check_a_mark_after_a_timeout_takes_nothing();
		bench_close();
	}
}
