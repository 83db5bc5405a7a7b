/* SPDX-License-Identifier: MIT */
/* test_windowed_cc -- the window at every transmission, alone on the bench. */
#include "support/bench.h"
#include "support/test.h"

extern const struct nopal_microprotocol nopal_windowed_cc;

enum { STEPS = 20000, ALIVE = 200 };

static int64_t in_flight(void)
{
	return *bench_shared("bytes_in_flight");
}

static void set_window(int64_t bytes)
{
	*bench_shared("congestion_window_bytes") = bytes;
}

static int set_up(void **state)
{
	(void)state;
	bench_place(&nopal_windowed_cc);
	bench_begin();
	set_window(3 * BENCH_BODY);
	return 0;
}

EACH_TEST(set_up, bench_tear_down);

TEST(test_leaves_at_once_where_there_is_room)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(bench_want(BENCH_BODY)->transmissions, 1);
	assert_int_equal(in_flight(), 3 * BENCH_BODY);
	assert_int_equal(bench_want(1)->transmissions, 0);
	bench_turn_end();
	assert_int_equal(bench.left_count, 3);
}

TEST(test_the_last_byte_counts)
{
	set_window(2 * BENCH_BODY - 1);
	bench_want(BENCH_BODY);
	assert_int_equal(bench_want(BENCH_BODY)->transmissions, 0);
	set_window(2 * BENCH_BODY);
	bench_turn_end();
	assert_int_equal(bench.left_count, 2);
}

TEST(test_one_may_always_fly)
{
	set_window(0);
	assert_int_equal(bench_want(BENCH_BODY)->transmissions, 1);
	assert_int_equal(bench_want(BENCH_BODY)->transmissions, 0);
	bench_done(bench.segment[0]);
	bench_turn_end();
	assert_int_equal(bench.left_count, 2);
}

TEST(test_order_is_kept_and_nobody_overtakes)
{
	set_window(1500);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	/* A short segment would fit, but it is not its turn. */
	assert_int_equal(bench_want(10)->transmissions, 0);
	bench_done(bench.segment[0]);
	bench_turn_end();
	assert_int_equal(bench.left_count, 3);
	assert_ptr_equal(bench.left[1], bench.segment[1]);
	assert_ptr_equal(bench.left[2], bench.segment[2]);
}

TEST(test_resends_go_first)
{
	for (int i = 0; i < 4; i++)
		bench_want(BENCH_BODY);
	set_window(BENCH_BODY);
	bench_lose(bench.segment[0]);
	assert_int_equal(in_flight(), 2 * BENCH_BODY);
	bench_done(bench.segment[1]);
	bench_done(bench.segment[2]);
	bench_turn_end();
	assert_int_equal(bench.left_count, 4);
	assert_ptr_equal(bench.left[3], bench.segment[0]);
	assert_int_equal(bench.segment[3]->transmissions, 0);
}

TEST(test_a_resend_leaves_at_once_where_there_is_room)
{
	bench_want(BENCH_BODY);
	bench_lose(bench.segment[0]);
	assert_int_equal(bench.segment[0]->transmissions, 2);
	assert_int_equal(in_flight(), BENCH_BODY);
}

TEST(test_charge_is_given_back_once)
{
	bench_want(BENCH_BODY);
	bench_raise(NOPAL_SEGMENT_LOST, bench.segment[0]);
	assert_int_equal(in_flight(), 0);
	bench_raise(NOPAL_SEGMENT_TIMEOUT, bench.segment[0]);
	bench_done(bench.segment[0]);
	assert_int_equal(in_flight(), 0);
}

TEST(test_a_segment_done_in_the_queue_never_leaves)
{
	set_window(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_done(bench.segment[1]);
	bench_done(bench.segment[0]);
	bench_turn_end();
	assert_int_equal(bench.segment[1]->transmissions, 0);
	assert_int_equal(bench.segment[2]->transmissions, 1);
	assert_int_equal(in_flight(), BENCH_BODY);
}

TEST(test_a_stale_handle_is_skipped)
{
	set_window(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench.segment[1]->handle.generation += 2;
	bench_done(bench.segment[0]);
	bench_turn_end();
	assert_int_equal(bench.segment[2]->transmissions, 1);
}

TEST(test_what_another_gate_holds_takes_no_window)
{
	struct nopal_segment *segment = bench_segment(BENCH_BODY);

	segment->waiting[NOPAL_SEND] |= BENCH_OTHERS;
	bench_raise(NOPAL_SEGMENT_TO_NET, segment);
	bench_turn_end();
	assert_int_equal(in_flight(), 0);
	set_window(0);
	bench_release_others(segment);
	assert_int_equal(segment->transmissions, 0);
	bench_turn_end();
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(in_flight(), BENCH_BODY);
}

TEST(test_a_kept_back_resend_does_not_stop_the_rest)
{
	struct nopal_segment *segment = bench_want(BENCH_BODY);

	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_raise(NOPAL_SEGMENT_LOST, segment);
	segment->waiting[NOPAL_SEND] |= BENCH_OTHERS;
	segment->wanted = true;
	bench_raise(NOPAL_SEGMENT_RESEND, segment);
	bench_turn_end();
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(bench.segment[3]->transmissions, 1);
	bench_done(bench.segment[1]);
	bench_release_others(segment);
	bench_turn_end();
	assert_int_equal(segment->transmissions, 2);
}

static struct nopal_segment *want_with(uint32_t number, uint32_t others)
{
	struct nopal_segment *segment = bench_segment(BENCH_BODY);

	segment->number = number;
	segment->waiting[NOPAL_SEND] |= others;
	bench_raise(NOPAL_SEGMENT_TO_NET, segment);
	return segment;
}

/* An older one that came later waits for the rate, whose credit the younger has. */
TEST(test_what_the_rate_let_go_leaves_behind_one_that_waits)
{
	struct nopal_segment *older, *younger;

	set_window(0);
	want_with(1, 0);
	younger = want_with(3, 0);
	older = want_with(2, BENCH_OTHERS);
	bench_done(bench.segment[0]);
	bench_turn_end();
	assert_int_equal(younger->transmissions, 0);
	*bench_shared("rate_granted_bytes") = BENCH_BODY;
	bench_turn_end();
	assert_int_equal(younger->transmissions, 1);
	*bench_shared("rate_granted_bytes") = 0;
	bench_done(younger);
	bench_release_others(older);
	bench_turn_end();
	assert_int_equal(older->transmissions, 1);
}

TEST(test_what_is_urgent_and_kept_back_stops_nobody)
{
	struct nopal_segment *urgent = bench_segment(BENCH_BODY);
	struct nopal_segment *later;

	urgent->urgent = true;
	urgent->waiting[NOPAL_SEND] |= BENCH_OTHERS;
	bench_raise(NOPAL_SEGMENT_TO_NET, urgent);
	later = want_with(2, 0);
	bench_turn_end();
	assert_int_equal(later->transmissions, 1);
	bench_release_others(urgent);
	bench_turn_end();
	assert_int_equal(urgent->transmissions, 1);
}

/* Acks that tell a floor alone tell nothing of it before the older one is there. */
TEST(test_an_urgent_resend_waits_for_older_ones)
{
	struct nopal_segment *urgent = bench_segment(BENCH_BODY);
	struct nopal_segment *older;

	set_window(0);
	urgent->urgent = true;
	urgent->number = 2;
	bench_raise(NOPAL_SEGMENT_TO_NET, urgent);
	older = want_with(1, 0);
	assert_int_equal(older->transmissions, 0);
	urgent->wanted = true;
	bench_raise(NOPAL_SEGMENT_RESEND, urgent);
	bench_raise(NOPAL_SEGMENT_TIMEOUT, urgent);
	bench_turn_end();
	assert_int_equal(older->transmissions, 1);
	assert_int_equal(urgent->transmissions, 1);
	bench_done(older);
	bench_turn_end();
	assert_int_equal(urgent->transmissions, 2);
}

TEST(test_app_limited)
{
	int64_t *limited = bench_shared("app_limited");

	bench_turn_end();
	assert_int_equal(*limited, 1);
	bench_want(BENCH_BODY);
	bench_want(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(*limited, 1);
	bench_want(1); /* less than a full segment of room is left */
	bench_turn_end();
	assert_int_equal(*limited, 0);
	bench_want(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(*limited, 0);
}

/* The last segment leaves, and `later_ns` after that the application has another one. */
static int64_t limited_by_one_that_comes(int64_t later_ns)
{
	for (int i = 0; i < 3; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	assert_int_equal(*bench_shared("app_limited"), 0);
	bench_done(bench.segment[0]);
	bench_turn_end();
	assert_int_equal(*bench_shared("app_limited"), 1);
	bench_pass(later_ns);
	bench_want(1);
	return *bench_shared("app_limited");
}

/* One message waits at a time, and is there as soon as there is room. */
TEST(test_an_application_that_sends_on_at_once_is_no_limit)
{
	assert_int_equal(limited_by_one_that_comes(0), 0);
}

TEST(test_an_application_that_sends_later_is_a_limit)
{
	assert_int_equal(limited_by_one_that_comes(1), 1);
}

TEST(test_a_resend_says_nothing_of_the_application)
{
	for (int i = 0; i < 3; i++)
		bench_want(BENCH_BODY);
	bench_turn_end();
	bench_done(bench.segment[0]);
	bench_turn_end();
	bench_lose(bench.segment[1]);
	assert_int_equal(*bench_shared("app_limited"), 1);
}

TEST(test_the_peers_window_is_not_ours)
{
	struct nopal_segment *segment = bench_segment(BENCH_BODY);

	segment->waiting[NOPAL_SEND] |= BENCH_OTHERS;
	bench_raise(NOPAL_SEGMENT_TO_NET, segment);
	bench_turn_end();
	assert_int_equal(*bench_shared("app_limited"), 0);
	*bench_shared("flow_blocked") = 1;
	bench_turn_end();
	assert_int_equal(*bench_shared("app_limited"), 1);
	bench_release_others(segment);
	bench_turn_end();
}

/* A message that waits for a rate is the application's all the same. */
TEST(test_beside_the_peers_window_others_wait)
{
	struct nopal_segment *segment[2];

	for (int i = 0; i < 2; i++) {
		segment[i] = bench_segment(BENCH_BODY);
		segment[i]->waiting[NOPAL_SEND] |= BENCH_OTHERS;
		bench_raise(NOPAL_SEGMENT_TO_NET, segment[i]);
	}
	*bench_shared("flow_blocked") = 1;
	bench_turn_end();
	assert_int_equal(*bench_shared("app_limited"), 0);
	*bench_shared("flow_blocked") = 2;
	bench_turn_end();
	assert_int_equal(*bench_shared("app_limited"), 1);
	for (int i = 0; i < 2; i++)
		bench_release_others(segment[i]);
	bench_turn_end();
}

TEST(test_no_memory_ends_the_session)
{
	set_window(0);
	bench_want(BENCH_BODY);
	bench.no_memory = true;
	bench_want(BENCH_BODY);
	assert_int_equal(bench.broke, 1);
}

/* ---------------------------------------------------------------- at random */

static int64_t flying; /* by the test's own count */
static int64_t *charged;

static void check_transmission(struct nopal_segment *segment)
{
	int64_t others = flying - charged[segment->handle.index];

	if (others > 0)
		assert_true(others + segment->body.length <=
			    *bench_shared("congestion_window_bytes"));
	flying = others + segment->body.length;
	charged[segment->handle.index] = segment->body.length;
}

static void off_network(struct nopal_segment *segment)
{
	flying -= charged[segment->handle.index];
	charged[segment->handle.index] = 0;
}

static void random_step(uint32_t first)
{
	uint32_t span = bench.segments - first;
	struct nopal_segment *segment = span ? bench.segment[first + bench_draw() % span] : NULL;
	bool out = segment && !segment->done && !segment->wanted;

	switch (bench_draw() % 8) {
	case 0:
		set_window((int64_t)(bench_draw() % (12 * BENCH_BODY)));
		break;
	case 1:
	case 2:
		if (out) {
			off_network(segment);
			bench_lose(segment);
		}
		break;
	case 3:
		if (segment && !segment->done) {
			off_network(segment);
			bench_done(segment);
		}
		break;
	case 4:
		if (segment && segment->waiting[NOPAL_SEND] & BENCH_OTHERS)
			bench_release_others(segment);
		break;
	case 5:
		if (bench.segments < BENCH_SEGMENTS) {
			segment = bench_segment((uint32_t)(bench_draw() % BENCH_BODY) + 1);
			if (bench_draw() % 4 == 0)
				segment->waiting[NOPAL_SEND] |= BENCH_OTHERS;
			bench_raise(NOPAL_SEGMENT_TO_NET, segment);
		}
		break;
	default:
		bench_turn_end();
	}
	assert_int_equal(flying, in_flight());
}

static void finish(uint32_t from)
{
	for (uint32_t i = from; i < bench.segments; i++)
		if (bench.segment[i]->waiting[NOPAL_SEND] & BENCH_OTHERS)
			bench_release_others(bench.segment[i]);
	for (uint32_t i = from; i < bench.segments; i++) {
		bench_turn_end();
		if (!bench.segment[i]->done) {
			assert_int_equal(bench.segment[i]->wanted, false);
			off_network(bench.segment[i]);
			bench_done(bench.segment[i]);
		}
	}
}

TEST(test_random_events_keep_the_window)
{
	int64_t counts[BENCH_SEGMENTS] = { 0 };

	charged = counts;
	flying = 0;
	bench.on_left = check_transmission;
	for (int i = 0; i < STEPS; i++)
		random_step(bench.segments > ALIVE ? bench.segments - ALIVE : 0);
	/* Resends first: the order of transmission is not that of birth, but with a wide window
	 * everything leaves, and the network is empty. */
	set_window(INT64_C(1) << 40);
	bench_turn_end();
	finish(0);
	assert_int_equal(in_flight(), 0);
	assert_int_equal(bench.broke, 0);
}
