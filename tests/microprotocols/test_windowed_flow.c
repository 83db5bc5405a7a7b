/* SPDX-License-Identifier: MIT */
/* test_windowed_flow -- edges, their wire, and a sender and receiver in one:
 * the session on the bench is its own peer, over a network of the test's. */
#include "edges.h"
#include "support/test.h"

enum { WINDOW_SEGMENTS = 100 };

static int set_up(void **state)
{
	(void)state;
	edges_place(WINDOW_SEGMENTS * SEG);
	bench_begin();
	bench_raise(NOPAL_SESSION_OPENED, NULL);
	return 0;
}

EACH_TEST(set_up, bench_tear_down);

static struct nopal_segment *want(uint64_t number)
{
	struct nopal_segment *segment = bench_segment(SEG);

	*bench_attribute(segment, NUMBER) = number;
	bench_raise(NOPAL_SEGMENT_TO_NET, segment);
	return segment;
}

static void hear_bytes(unsigned kind, const void *bytes, uint32_t length)
{
	struct nopal_segment *segment =
		calloc(1, sizeof(*segment) + BENCH_SLOTS * sizeof(uint64_t));
	uint8_t *exact = malloc(length ? length : 1);

	memcpy(exact, bytes, length);
	segment->body.bytes = exact;
	segment->body.length = length;
	bench_raise_kind(NOPAL_SEGMENT_FROM_NET, NOPAL_OWN_KIND + kind, segment);
	free(exact);
	free(segment);
}

static void hear(unsigned kind, uint64_t number)
{
	uint8_t bytes[4] = { (uint8_t)(number >> 24), (uint8_t)(number >> 16),
			     (uint8_t)(number >> 8), (uint8_t)number };

	hear_bytes(kind, bytes, sizeof(bytes));
}

/* The last report, and its kind. */
static void assert_said(uint32_t count, unsigned kind, uint32_t number)
{
	assert_int_equal(bench.said_count, count);
	assert_int_equal(bench.said[count - 1].kind, kind);
	assert_int_equal(bench.said[count - 1].length, 4);
	assert_int_equal(said_number(count - 1), number);
}

/* ------------------------------------------------------------- the sender */

TEST(test_begins_with_the_initial_grant)
{
	for (uint64_t i = FIRST; i < FIRST + INITIAL; i++)
		assert_int_equal(want(i)->transmissions, 1);
	assert_int_equal(want(FIRST + INITIAL)->transmissions, 0);
	assert_int_equal(*bench_shared("flow_blocked"), 1);
}

TEST(test_a_window_lets_go_in_order)
{
	for (uint64_t i = FIRST; i < FIRST + 30; i++)
		want(i);
	hear(KIND_WINDOW, FIRST + 20);
	assert_int_equal(bench.left_count, 20);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(*bench_attribute(bench.left[i], NUMBER), FIRST + i);
	hear(KIND_WINDOW, FIRST + 100);
	assert_int_equal(bench.left_count, 30);
	assert_int_equal(*bench_shared("flow_blocked"), 0);
	assert_int_equal(bench.timer[0], NOPAL_NEVER);
}

TEST(test_an_edge_never_retreats)
{
	hear(KIND_WINDOW, FIRST + 50);
	hear(KIND_WINDOW, FIRST + 20);
	hear(KIND_WINDOW, 0);
	for (uint64_t i = FIRST; i < FIRST + 50; i++)
		assert_int_equal(want(i)->transmissions, 1);
	assert_int_equal(want(FIRST + 50)->transmissions, 0);
}

TEST(test_hostile_windows_change_nothing)
{
	static const uint8_t bytes[8] = { 0, 0, 0, 60, 0, 0, 0, 60 };

	for (uint32_t length = 0; length <= 8; length++)
		if (length != 4)
			hear_bytes(KIND_WINDOW, bytes, length);
	hear(KIND_WINDOW, FIRST + (1 << 24) + 1000); /* beyond any buffer */
	hear(KIND_WINDOW, UINT32_MAX);
	hear(KIND_WINDOW, UINT32_MAX / 2);
	for (uint64_t i = FIRST; i < FIRST + INITIAL; i++)
		want(i);
	assert_int_equal(want(FIRST + INITIAL)->transmissions, 0);
}

TEST(test_edges_wrap)
{
	uint64_t base = UINT32_MAX - 5;

	*bench_shared("initial_local") = (int64_t)base;
	bench_raise(NOPAL_SESSION_OPENED, NULL);
	for (uint64_t i = base; i < base + INITIAL; i++)
		assert_int_equal(want(i)->transmissions, 1);
	want(base + INITIAL);
	hear(KIND_WINDOW, base + INITIAL + 1);
	assert_int_equal(bench.left_count, INITIAL + 1);
	hear(KIND_WINDOW, base); /* an old one, from before the wrap */
	assert_int_equal(want(base + INITIAL + 1)->transmissions, 0);
}

TEST(test_a_blocked_sender_probes_less_and_less)
{
	static const int64_t at_ms[] = { 100, 300, 700, 1500 };

	bench_turn_end();
	for (uint64_t i = FIRST; i < FIRST + INITIAL + 3; i++)
		want(i);
	for (uint32_t i = 0; i < 4; i++) {
		bench_pass(at_ms[i] * NOPAL_MILLISECOND - bench.session->now_ns - 1);
		assert_int_equal(bench.said_count - 1, i);
		bench_pass(1);
		/* one window of the receiver in us, then probes */
		assert_said(i + 2, KIND_PROBE, FIRST + INITIAL);
	}
	hear(KIND_WINDOW, FIRST + INITIAL + 1);
	bench_pass(99 * NOPAL_MILLISECOND);
	assert_int_equal(bench.said_count, 5);
	bench_pass(NOPAL_MILLISECOND);
	assert_said(6, KIND_PROBE, FIRST + INITIAL + 1);
	hear(KIND_WINDOW, FIRST + 100);
	bench_pass(NOPAL_SECOND * 100);
	assert_int_equal(bench.said_count, 6);
}

TEST(test_the_same_window_again_does_not_hurry_probes)
{
	bench_turn_end();
	for (uint64_t i = FIRST; i <= FIRST + INITIAL; i++)
		want(i);
	for (int i = 0; i < 20; i++) {
		bench_pass(NOPAL_SECOND);
		hear(KIND_WINDOW, FIRST + INITIAL);
	}
	/* 0.1 0.3 0.7 1.5 3.1 6.3 12.7 19.1 s, and the window at first */
	assert_int_equal(bench.said_count, 9);
}

TEST(test_what_dies_in_the_queue_is_skipped)
{
	for (uint64_t i = FIRST; i < FIRST + INITIAL + 3; i++)
		want(i);
	bench.segment[INITIAL]->handle.generation += 2;
	hear(KIND_WINDOW, FIRST + 100);
	assert_int_equal(bench.left_count, INITIAL + 2);
}

TEST(test_no_memory_ends_the_session)
{
	bench.no_memory = true;
	want(FIRST + INITIAL);
	assert_int_equal(bench.broke, 1);
}

/* ----------------------------------------------------------- the receiver */

TEST(test_tells_the_window_at_once)
{
	bench.not_open = true;
	bench_turn_end();
	assert_int_equal(bench.said_count, 0);
	bench.not_open = false;
	bench_turn_end();
	assert_said(1, KIND_WINDOW, FIRST + WINDOW_SEGMENTS);
	bench_turn_end();
	assert_int_equal(bench.said_count, 1);
}

TEST(test_repeats_it_while_the_peer_may_live_on_initial)
{
	bench_turn_end();
	for (uint64_t i = FIRST; i < FIRST + INITIAL; i++) {
		arrive(i);
		bench_turn_end();
	}
	assert_int_equal(bench.said_count, 5);
	for (uint64_t i = FIRST + INITIAL; i < FIRST + INITIAL + 10; i++) {
		arrive(i);
		bench_turn_end();
	}
	assert_in_range(bench.said_count, 5, 6);
}

TEST(test_tells_every_quarter)
{
	uint32_t before;

	for (uint64_t i = FIRST; i < FIRST + 200; i++) {
		arrive(i);
		bench_turn_end();
	}
	before = bench.said_count;
	for (uint64_t i = FIRST + 200; i < FIRST + 400; i++) {
		arrive(i);
		bench_turn_end();
	}
	assert_int_equal(bench.said_count, before + 8);
}

TEST(test_what_is_held_is_not_granted)
{
	struct nopal_message *held[200];
	uint32_t edge;

	for (uint64_t i = 0; i < 50; i++) {
		arrive(FIRST + i);
		held[i] = message_of(SEG);
		bench_turn_end();
	}
	edge = said_number(bench.said_count - 1);
	assert_int_equal(edge, FIRST + WINDOW_SEGMENTS);
	for (uint64_t i = 50; i < 100; i++) {
		arrive(FIRST + i);
		held[i] = message_of(SEG);
		bench_turn_end();
	}
	assert_int_equal(said_number(bench.said_count - 1), edge);
	/* The reader wakes up. */
	for (uint64_t i = 0; i < 100; i++)
		consume(held[i]);
	bench_turn_end();
	assert_int_equal(said_number(bench.said_count - 1), edge + 100);
}

TEST(test_a_message_larger_than_the_buffer_passes)
{
	struct nopal_message *message;

	*bench_shared("reliability_unmet") = 1;
	for (uint64_t i = 0; i < 5 * WINDOW_SEGMENTS; i++) {
		arrive(FIRST + i);
		bench_turn_end();
		assert_true(said_number(bench.said_count - 1) > FIRST + i + 1);
	}
	message = message_of(5 * WINDOW_SEGMENTS * SEG);
	bench_turn_end();
	consume(message);
	bench_turn_end();
	hear(KIND_PROBE, FIRST + 5 * WINDOW_SEGMENTS);
	bench_turn_end();
	assert_int_equal(said_number(bench.said_count - 1), FIRST + 6 * WINDOW_SEGMENTS);
}

TEST(test_holes_keep_their_place_where_they_are_filled)
{
	*bench_shared("reliability_unmet") = 1;
	for (uint64_t i = 1; i < 80; i += 2)
		arrive(FIRST + i);
	hear(KIND_PROBE, FIRST + 80);
	bench_turn_end();
	assert_int_equal(said_number(bench.said_count - 1), FIRST + 40 + WINDOW_SEGMENTS);
}

TEST(test_holes_take_no_credit_where_they_stay)
{
	for (uint64_t i = 1; i < 80; i += 2)
		arrive(FIRST + i);
	hear(KIND_PROBE, FIRST + 80);
	bench_turn_end();
	assert_int_equal(said_number(bench.said_count - 1), FIRST + 80 + WINDOW_SEGMENTS);
}

TEST(test_all_lost_and_a_probe_moves_on)
{
	bench_turn_end();
	hear(KIND_PROBE, FIRST + WINDOW_SEGMENTS);
	bench_turn_end();
	assert_said(2, KIND_WINDOW, FIRST + 2 * WINDOW_SEGMENTS);
}

TEST(test_hostile_probes)
{
	static const uint8_t bytes[8] = { 0 };

	bench_turn_end();
	for (uint32_t length = 0; length <= 8; length++)
		if (length != 4)
			hear_bytes(KIND_PROBE, bytes, length);
	/* Numbers that were never granted. */
	hear(KIND_PROBE, FIRST + WINDOW_SEGMENTS + 1);
	hear(KIND_PROBE, UINT32_MAX / 2);
	bench_turn_end();
	assert_int_equal(bench.said_count, 1);
	/* A flood is answered once a turn. */
	for (int i = 0; i < 1000; i++)
		hear(KIND_PROBE, FIRST);
	bench_turn_end();
	assert_said(2, KIND_WINDOW, FIRST + WINDOW_SEGMENTS);
}

TEST(test_a_discarded_message_is_credited_once)
{
	struct nopal_message *message = message_of(90 * SEG);
	struct nopal_message *never_charged =
		calloc(1, sizeof(*message) + BENCH_SLOTS * sizeof(uint64_t));

	never_charged->length = 50 * SEG;
	bench_raise(NOPAL_MSG_CONSUMED, message);
	consume(message);
	consume(never_charged);
	bench_turn_end();
	assert_said(1, KIND_WINDOW, FIRST + WINDOW_SEGMENTS);
}

TEST(test_no_memory_for_a_window_is_made_up_for)
{
	bench.no_memory = true;
	bench_turn_end();
	assert_int_equal(bench.said_count, 0);
	bench.no_memory = false;
	hear(KIND_PROBE, FIRST);
	bench_turn_end();
	assert_int_equal(bench.said_count, 1);
}

/* -------------------------------------------------------------- piggyback */

TEST(test_the_edge_rides_on_data)
{
	*bench_parameter("piggyback") = 1;
	for (uint64_t i = FIRST; i < FIRST + 3 * WINDOW_SEGMENTS; i++) {
		arrive(i);
		assert_int_equal(*bench_attribute(want(FIRST), RIDES), i + 1 + WINDOW_SEGMENTS);
		bench_turn_end();
	}
	assert_int_equal(bench.said_count, 0);
}

static uint32_t left_when_told(uint64_t edge)
{
	struct nopal_segment *segment = bench_segment(SEG);

	*bench_attribute(segment, RIDES) = (uint32_t)edge;
	bench_raise(NOPAL_SEGMENT_FROM_NET, segment);
	return bench.left_count;
}

TEST(test_an_edge_that_rode_lets_go)
{
	for (uint64_t i = FIRST; i < FIRST + 30; i++)
		want(i);
	assert_int_equal(left_when_told(FIRST + 20), INITIAL);
	*bench_parameter("piggyback") = 1;
	assert_int_equal(left_when_told(FIRST + 20), 20);
	assert_int_equal(left_when_told(FIRST + 10), 20); /* late */
	assert_int_equal(left_when_told(FIRST + (1 << 24) + 1000), 20);
	assert_int_equal(left_when_told(FIRST + 100), 30);
}

/* -------------------------------------------------------- both, at random */

static struct {
	bool reliable;
	uint32_t data_loss, control_loss; /* percent */
	uint32_t heard;			  /* of what was said */
	uint64_t told;			  /* edge: the largest that was said */
	struct nopal_message *held[BENCH_SEGMENTS];
	uint32_t held_first, held_end, held_max;
	uint32_t arrived;
} loop;

static bool passes(uint32_t loss_percent)
{
	return bench_draw() % 100 >= loss_percent;
}

/* FC1: never beyond what was told. */
static void check_transmission(struct nopal_segment *segment)
{
	assert_true(*bench_attribute(segment, NUMBER) < loop.told);
}

static void cross_control(void)
{
	while (loop.heard < bench.said_count) {
		struct bench_said *said = &bench.said[loop.heard++ % BENCH_SAID];
		uint32_t number = said_number((loop.heard - 1) % BENCH_SAID);

		if (said->kind == KIND_WINDOW) {
			assert_true(number >= loop.told || number == FIRST + INITIAL);
			loop.told = number;
		}
		if (passes(loop.control_loss))
			hear(said->kind, number);
	}
}

static void cross_data(void)
{
	static const int in_one_go = 8;

	for (int i = 0; i < in_one_go && loop.arrived < bench.left_count; i++) {
		struct nopal_segment *segment = bench.left[loop.arrived++];

		if (!passes(loop.data_loss))
			continue;
		arrive(*bench_attribute(segment, NUMBER));
		loop.held[loop.held_end++] = message_of(SEG);
	}
	if (loop.held_end - loop.held_first > loop.held_max)
		loop.held_max = loop.held_end - loop.held_first;
}

static void read_some(uint64_t max)
{
	for (uint64_t i = bench_draw() % (max + 1); i > 0 && loop.held_first < loop.held_end; i--)
		consume(loop.held[loop.held_first++]);
}

static void run_loop(bool reliable, uint32_t data_loss, uint32_t control_loss, uint64_t reads)
{
	enum { MESSAGES = 6000, STEPS = 200000 };
	uint64_t number = FIRST;

	memset(&loop, 0, sizeof(loop));
	loop.reliable = reliable;
	loop.data_loss = data_loss;
	loop.control_loss = control_loss;
	loop.told = FIRST + INITIAL;
	bench.on_left = check_transmission;
	*bench_shared("reliability_unmet") = reliable;
	for (int i = 0; i < STEPS && loop.arrived < MESSAGES; i++) {
		if (number < FIRST + MESSAGES && bench_draw() % 4)
			want(number++);
		cross_data();
		if (bench_draw() % 3 == 0)
			read_some(reads);
		bench_pass((int64_t)(bench_draw() % (2 * NOPAL_MILLISECOND)));
		bench_turn_end();
		cross_control();
	}
	assert_int_equal(loop.arrived, MESSAGES);
	read_some(UINT32_MAX);
	while (loop.held_first < loop.held_end)
		consume(loop.held[loop.held_first++]);
	/* The receiver never held more than its buffer. */
	assert_in_range(loop.held_max, 1, WINDOW_SEGMENTS);
}

TEST(test_loop_reliable)
{
	run_loop(true, 0, 0, 8);
}

TEST(test_loop_with_lost_control)
{
	run_loop(true, 0, 40, 8);
}

TEST(test_loop_with_a_slow_reader)
{
	run_loop(true, 0, 10, 1);
}

TEST(test_loop_unreliable)
{
	run_loop(false, 50, 50, 8);
}

TEST(test_loop_nearly_all_lost)
{
	run_loop(false, 97, 30, 8);
}
