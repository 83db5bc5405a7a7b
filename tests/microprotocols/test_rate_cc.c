/* SPDX-License-Identifier: MIT */
/* test_rate_cc -- bytes of any interval against rate and quanta, on the bench. */
#include "support/bench.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_rate_cc;

enum {
	MBIT = 1000000,
	QUANTUM = 2 * BENCH_BODY,
	BURST = 2 * QUANTUM,
	STEPS = 4000,
};
/* A body at 8 Mbit/s. */
#define BODY_NS NOPAL_MILLISECOND

static void set_rate(int64_t bps)
{
	*bench_shared("sending_rate_bps") = bps;
}

static int set_up(void **state)
{
	(void)state;
	bench_place(&nopal_rate_cc);
	*bench_parameter("quantum") = QUANTUM;
	bench_begin();
	set_rate(8 * MBIT);
	return 0;
}

EACH_TEST(set_up, bench_tear_down);

TEST(test_no_rate_is_no_limit)
{
	set_rate(0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(bench_want(BENCH_BODY)->transmissions, 1);
	bench_turn_end();
	assert_int_equal(bench.timer[0], NOPAL_NEVER);
}

TEST(test_a_full_bucket_goes_at_once)
{
	for (int i = 0; i < 10; i++)
		bench_want(BENCH_BODY);
	assert_int_equal(bench.left_count, BURST / BENCH_BODY);
	bench_turn_end();
	assert_int_equal(bench.left_count, BURST / BENCH_BODY);
	assert_int_not_equal(bench.timer[0], NOPAL_NEVER);
}

TEST(test_then_one_quantum_a_timer)
{
	for (int i = 0; i < 10; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	bench_pass(2 * BODY_NS - 1000);
	assert_int_equal(bench.left_count, 4);
	bench_pass(2000);
	assert_int_equal(bench.left_count, 6);
	bench_pass(2 * BODY_NS);
	assert_int_equal(bench.left_count, 8);
	bench_pass(NOPAL_SECOND);
	assert_int_equal(bench.left_count, 10);
	assert_int_equal(bench.timer[0], NOPAL_NEVER);
}

TEST(test_a_quantum_is_at_least_a_millisecond)
{
	set_rate(800 * INT64_C(1000000)); /* 100 bodies a millisecond */
	for (int i = 0; i < 1000; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(bench.left_count, 200);
	bench_pass(NOPAL_MILLISECOND + 1000);
	assert_int_equal(bench.left_count, 300);
}

TEST(test_late_by_a_quantum_loses_nothing)
{
	uint64_t bodies;

	for (int i = 0; i < 1000; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	for (int i = 0; i < 100; i++) {
		bench.session->now_ns = bench.timer[0] + 2 * BODY_NS - 1000;
		bench_pass(0);
	}
	bodies = (uint64_t)(bench.session->now_ns / BODY_NS);
	assert_in_range(bench.left_count, bodies + 3, bodies + 4);
}

TEST(test_resends_go_first)
{
	for (int i = 0; i < 6; i++)
		bench_want(BENCH_BODY);
	bench_lose(bench.segment[0]);
	bench_turn_end();
	bench_pass(NOPAL_SECOND);
	assert_int_equal(bench.left_count, 7);
	assert_ptr_equal(bench.left[4], bench.segment[0]);
	assert_ptr_equal(bench.left[5], bench.segment[4]);
}

TEST(test_a_higher_rate_counts_at_once)
{
	set_rate(8000); /* a body a second */
	for (int i = 0; i < 40; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(bench.left_count, 4);
	bench_pass(NOPAL_MILLISECOND);
	set_rate(80 * MBIT);
	bench_turn_end();
	bench_pass(4 * NOPAL_MILLISECOND);
	assert_int_equal(bench.left_count, 40);
}

TEST(test_no_rate_lets_all_go)
{
	for (int i = 0; i < 40; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	set_rate(0);
	bench_turn_end();
	assert_int_equal(bench.left_count, 40);
}

TEST(test_slow_rates_lose_no_fraction)
{
	set_rate(1000); /* a bit each millisecond, a body in 8 s */
	for (int i = 0; i < 14; i++)
		bench_want(BENCH_BODY);
	for (int i = 0; i < 801000; i++) {
		bench_pass(100 * NOPAL_MICROSECOND);
		bench_turn_end();
	}
	/* 80 s: ten bodies beyond the bucket's four. */
	assert_int_equal(bench.left_count, 14);
}

/* With a window composed, its bit is the last one; else there must be none. */
static struct nopal_segment *want_behind_window(uint32_t length)
{
	struct nopal_segment *segment = bench_segment(length);

	segment->waiting[NOPAL_SEND] |= BENCH_OTHERS;
	bench_raise(NOPAL_SEGMENT_TO_NET, segment);
	return segment;
}

static uint32_t let_go(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bench.segments; i++)
		count += !(bench.segment[i]->waiting[NOPAL_SEND] & BENCH_OWN);
	return count;
}

TEST(test_no_more_than_the_window_lets_go)
{
	*bench_shared("congestion_window_bytes") = 3 * BENCH_BODY;
	for (int i = 0; i < 100; i++)
		want_behind_window(BENCH_BODY);
	bench_turn_end();
	bench_pass(NOPAL_SECOND);
	bench_turn_end();
	assert_int_equal(let_go(), 3);
	/* They fly, and nothing is acknowledged yet. */
	*bench_shared("bytes_in_flight") = 3 * BENCH_BODY;
	for (int i = 0; i < 3; i++)
		bench_release_others(bench.segment[i]);
	bench_turn_end();
	assert_int_equal(let_go(), 0);
	assert_int_equal(bench.timer[0], NOPAL_NEVER);
	*bench_shared("bytes_in_flight") = 0;
	bench_pass(NOPAL_SECOND);
	bench_turn_end();
	assert_int_equal(let_go(), 3);
}

TEST(test_one_may_fly_past_a_closed_window)
{
	*bench_shared("congestion_window_bytes") = 0;
	want_behind_window(BENCH_BODY);
	want_behind_window(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(let_go(), 1);
}

TEST(test_what_another_gate_holds_takes_no_credit)
{
	struct nopal_segment *kept = bench_segment(BENCH_BODY);

	kept->waiting[NOPAL_SEND] |= BENCH_OTHERS | BENCH_OTHERS << 1;
	*bench_shared("congestion_window_bytes") = 100 * BENCH_BODY;
	bench_raise(NOPAL_SEGMENT_TO_NET, kept);
	bench_turn_end();
	assert_int_equal(let_go(), 0);
	kept->waiting[NOPAL_SEND] = BENCH_OWN;
	*bench_shared("congestion_window_bytes") = INT64_MAX;
	bench_turn_end();
	assert_int_equal(kept->transmissions, 1);
}

TEST(test_a_resend_passes_what_is_kept_back)
{
	struct nopal_segment *kept;

	bench_want(BENCH_BODY);
	kept = bench_segment(BENCH_BODY);
	kept->waiting[NOPAL_SEND] |= BENCH_OTHERS;
	bench_raise(NOPAL_SEGMENT_TO_NET, kept);
	bench_lose(bench.segment[0]);
	bench_turn_end();
	assert_int_equal(bench.segment[0]->transmissions, 2);
	bench_release_others(kept);
	bench_turn_end();
	assert_int_equal(kept->transmissions, 1);
}

TEST(test_done_behind_the_window_gives_credit_back)
{
	*bench_shared("congestion_window_bytes") = 100 * BENCH_BODY;
	for (int i = 0; i < 4; i++)
		want_behind_window(BENCH_BODY);
	want_behind_window(BENCH_BODY);
	assert_int_equal(let_go(), 4);
	for (int i = 0; i < 4; i++)
		bench_done(bench.segment[i]);
	bench_turn_end();
	assert_int_equal(let_go(), 5);
}

/* Bytes let go at a fast rate are no debt at a slow one. */
TEST(test_a_slower_rate_pays_no_debt)
{
	set_rate(800 * INT64_C(1000000)); /* 100 bodies a millisecond */
	*bench_shared("congestion_window_bytes") = 1000 * BENCH_BODY;
	for (int i = 0; i < 150; i++)
		want_behind_window(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(let_go(), 150);
	set_rate(8000); /* a body a second */
	want_behind_window(BENCH_BODY);
	bench_turn_end();
	for (uint32_t i = 0; i < 150; i++)
		bench_release_others(bench.segment[i]);
	assert_int_equal(bench.left_count, 150);
	bench_turn_end();
	bench_pass(3 * NOPAL_SECOND);
	bench_release_others(bench.segment[150]);
	assert_int_equal(bench.left_count, 151);
}

/* Flow control may let the rest go first. */
TEST(test_what_is_urgent_and_kept_back_stops_nobody)
{
	struct nopal_segment *urgent = bench_segment(BENCH_BODY);
	struct nopal_segment *later;

	urgent->urgent = true;
	urgent->waiting[NOPAL_SEND] |= BENCH_OTHERS;
	bench_raise(NOPAL_SEGMENT_TO_NET, urgent);
	later = bench_want(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(later->transmissions, 1);
	bench_release_others(urgent);
	bench_turn_end();
	assert_int_equal(urgent->transmissions, 1);
}

/* A quantum would take two seconds. */
TEST(test_slow_rates_wait_for_no_quantum)
{
	set_rate(8000); /* a body a second */
	for (int i = 0; i < 6; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(bench.left_count, 4);
	bench_pass(NOPAL_SECOND + NOPAL_MILLISECOND);
	assert_int_equal(bench.left_count, 5);
	bench_pass(NOPAL_SECOND);
	assert_int_equal(bench.left_count, 6);
}

TEST(test_longer_than_a_quantum)
{
	int wakes = 0;

	*bench_parameter("quantum") = BENCH_BODY;
	set_rate(8 * MBIT / 100);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY + BENCH_BODY / 2);
	bench_turn_end();
	while (bench.left_count < 3 && wakes < 10) {
		bench_pass(bench.timer[0] - bench.session->now_ns);
		wakes++;
	}
	assert_in_range(wakes, 1, 3);
	assert_int_equal(bench.left_count, 3);
}

/* As whole messages are, which the layer below cuts. */
TEST(test_longer_than_the_bucket)
{
	int wakes = 0;

	bench_want(BENCH_BODY);
	bench_want(3 * BURST);
	bench_turn_end();
	assert_int_equal(bench.left_count, 1);
	while (bench.left_count < 2 && wakes++ < 10)
		bench_pass(bench.timer[0] - bench.session->now_ns);
	assert_int_equal(bench.left_count, 2);
	/* no quicker than the rate, what the bucket had apart */
	assert_true(bench.session->now_ns >= (3 * BURST - BURST) / BENCH_BODY * BODY_NS);
}

TEST(test_absurd_rates)
{
	static const int64_t rates[] = { INT64_MAX, -1, INT64_MIN, 1000 * NOPAL_SECOND + 1 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		set_rate(rates[i]);
		bench_turn_end();
		for (int j = 0; j < 100; j++)
			assert_int_equal(bench_want(BENCH_BODY)->transmissions, 1);
	}
	set_rate(1000 * NOPAL_SECOND);
	for (int j = 0; j < 100; j++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	bench_pass(NOPAL_SECOND);
	assert_int_equal(bench.left_count, 500);
}

/* --------------------------------------------------------------- at random */

static int64_t transmitted_ns[BENCH_SEGMENTS * 4];
static uint32_t transmitted_bytes[BENCH_SEGMENTS * 4];
static uint32_t transmitted;

static void note_transmission(struct nopal_segment *segment)
{
	transmitted_ns[transmitted] = bench.session->now_ns;
	transmitted_bytes[transmitted++] = segment->body.length;
}

static void random_step(void)
{
	struct nopal_segment *segment;

	switch (bench_draw() % 6) {
	case 0:
	case 1:
		if (bench.segments < BENCH_SEGMENTS)
			bench_want((uint32_t)(bench_draw() % BENCH_BODY) + 1);
		break;
	case 2:
		segment = bench.segments ? bench.segment[bench_draw() % bench.segments] : NULL;
		if (segment && !segment->done && !segment->wanted && transmitted < BENCH_SEGMENTS)
			bench_lose(segment);
		break;
	case 3:
		segment = bench.segments ? bench.segment[bench_draw() % bench.segments] : NULL;
		if (segment && !segment->done)
			bench_done(segment);
		break;
	case 4:
		bench_pass((int64_t)(bench_draw() % (2 * BODY_NS)));
		break;
	default:
		bench_turn_end();
	}
}

TEST(test_every_interval_keeps_the_rate)
{
	transmitted = 0;
	bench.on_left = note_transmission;
	for (int i = 0; i < STEPS; i++)
		random_step();
	for (uint32_t i = 0; i < transmitted; i++) {
		int64_t bytes = 0;

		for (uint32_t j = i; j < transmitted; j++) {
			bytes += transmitted_bytes[j];
			assert_true(bytes * BODY_NS / BENCH_BODY <=
				    transmitted_ns[j] - transmitted_ns[i] +
					    BURST * BODY_NS / BENCH_BODY);
		}
	}
	assert_true(transmitted > STEPS / 8);
}
