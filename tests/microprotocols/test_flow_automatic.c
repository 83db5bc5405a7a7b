/* SPDX-License-Identifier: MIT */
/* test_flow_automatic -- a window that follows what is of use: the receiver on the bench, a path of
 * some rate and round trip, and an application that reads. */
#include "edges.h"
#include "support/test.h"

enum {
	BUFFER = 100000, /* segments */
	RING = 1 << 17,
	TRIP_MAX = 1024,
	MIN = 8 * INITIAL,
};

static struct path {
	uint32_t rate;	  /* segments in a millisecond */
	uint32_t trip_ms; /* round trip */
	uint32_t reads;	  /* messages in a millisecond */

	uint64_t next, edge;	  /* number that comes next; edge as told last */
	uint64_t known[TRIP_MAX]; /* edges, as told in each millisecond */
	uint64_t now_ms;
	uint32_t heard; /* of what was said */
	struct nopal_message *held[RING];
	uint64_t held_first, held_end;
} path;

static void hear(void)
{
	for (; path.heard < bench.said_count; path.heard++) {
		uint64_t edge = said_number(path.heard % BENCH_SAID);

		assert_true(edge >= path.edge); /* nothing is taken back */
		path.edge = edge;
	}
	path.known[path.now_ms % TRIP_MAX] = path.edge;
}

/* The window of a round trip ago is the arrival of now. */
static uint64_t edge_of_the_sender(void)
{
	return path.now_ms < path.trip_ms ? FIRST + INITIAL
					  : path.known[(path.now_ms - path.trip_ms) % TRIP_MAX];
}

static void one_millisecond(void)
{
	for (uint32_t i = 0; i < path.rate && path.next < edge_of_the_sender(); i++) {
		arrive(path.next++);
		path.held[path.held_end++ % RING] = message_of(SEG);
	}
	for (uint32_t i = 0; i < path.reads && path.held_first < path.held_end; i++)
		consume(path.held[path.held_first++ % RING]);
	bench_turn_end();
	hear();
	path.now_ms++;
	bench_pass(NOPAL_MILLISECOND);
}

/* So many segments came meanwhile. */
static uint64_t run(uint32_t milliseconds)
{
	uint64_t before = path.next;

	for (uint32_t i = 0; i < milliseconds; i++)
		one_millisecond();
	return path.next - before;
}

/* Bytes that the sender may have on the way, beyond those that were read. */
static uint64_t promised(void)
{
	return path.edge - FIRST - path.held_first;
}

static void begin(uint32_t rate, uint32_t trip_ms, uint32_t reads)
{
	memset(&path, 0, sizeof(path));
	path.rate = rate;
	path.trip_ms = trip_ms;
	path.reads = reads;
	path.next = FIRST;
	path.edge = FIRST + INITIAL;
	edges_place((int64_t)BUFFER * SEG);
	*bench_parameter("automatic") = 1;
	bench_begin();
	bench_raise(NOPAL_SESSION_OPENED, NULL);
}

static void end(void)
{
	while (path.held_first < path.held_end)
		consume(path.held[path.held_first++ % RING]);
	bench_close();
}

TEST(test_begins_small)
{
	begin(10, 100, 10);
	run(1);
	assert_int_equal(promised(), MIN);
	end();
}

TEST(test_is_near_three_round_trips)
{
	for (uint32_t trip_ms = 10; trip_ms <= 250; trip_ms *= 5) {
		uint64_t product = 10 * trip_ms;

		begin(10, trip_ms, 10);
		run(2000);
		assert_int_equal(run(1000), 10 * 1000); /* the path is full */
		print_message("%d ms: %d of %d\n", (int)trip_ms, (int)promised(), (int)product);
		assert_in_range(promised(), 2 * product, 7 * product / 2 + MIN);
		end();
	}
}

/* As the window of a sender in slow start, that doubles in a round trip. */
TEST(test_it_is_ahead_of_slow_start)
{
	uint64_t window = 10, began;

	begin(0, 100, UINT32_MAX);
	run(100);
	for (; window < BUFFER / 4; window *= 2) {
		path.rate = (uint32_t)(window / 100) + 1;
		began = path.next;
		run(100);
		assert_true(path.next - began >= window);
	}
	end();
}

TEST(test_never_more_than_the_buffer)
{
	begin(2000, 200, 2000);
	for (int i = 0; i < 3000; i++) {
		one_millisecond();
		assert_true(promised() <= BUFFER);
	}
	assert_true(promised() >= BUFFER / 2);
	end();
}

/* The path brings ten times what is read: it waits at the sender, not here. */
TEST(test_a_slow_reader_holds_little)
{
	begin(10, 100, 1);
	run(3000);
	assert_in_range(run(2000), 1900, 2100);
	print_message("held: %d\n", (int)(path.held_end - path.held_first));
	assert_true(path.held_end - path.held_first <= 4 * 100);
	assert_true(promised() <= 4 * 100);
	end();
}

/* A promised window stays; the next messages use it up, and finds a small window. */
TEST(test_idle_it_halves)
{
	uint64_t edge;

	begin(50, 100, 50);
	run(3000);
	assert_true(promised() >= 50 * 100);
	edge = path.edge;
	path.rate = 0;
	run(30000);
	assert_int_equal(path.edge, edge);
	path.rate = 1;
	run(1000);
	assert_int_equal(path.edge, edge);
	run(20000);
	assert_true(path.edge > edge);
	assert_true(promised() <= 7 * 100 / 2 + MIN);
	path.rate = 50;
	run(2000);
	assert_int_equal(run(1000), 50 * 1000);
	end();
}

/* A segment after a silence has not travelled all that time, as what follows it shows. */
TEST(test_silence_is_no_round_trip)
{
	begin(1, 100, 50);
	run(20000);
	for (int i = 0; i < 10; i++) {
		path.rate = 0;
		run(10000);
		path.rate = 50;
		run(10);
	}
	run(3000);
	assert_in_range(promised(), 2 * 50 * 100, 7 * 50 * 100 / 2);
	end();
}

TEST(test_a_path_that_becomes_longer)
{
	begin(10, 10, 10);
	run(10000);
	assert_true(promised() < 1000);
	path.trip_ms = 500;
	run(60000);
	assert_int_equal(run(1000), 10 * 1000);
	print_message("%d of %d\n", (int)promised(), 10 * 500);
	end();
}

/* A hole keeps whole messages from who reads; the edge moves on with what arrives. */
TEST(test_what_waits_for_its_order_does_not_count)
{
	struct nopal_message *message =
		calloc(1, sizeof(*message) + BENCH_SLOTS * sizeof(uint64_t));
	uint64_t before;

	begin(10, 100, 10);
	run(3000);
	before = promised();
	message->length = 1000 * SEG;
	bench_raise(NOPAL_MSG_FROM_NET, message);
	run(500);
	assert_true(promised() > before * 3 / 4);
	bench_raise(NOPAL_MSG_TO_USER, message);
	run(200);
	assert_true(promised() < before * 3 / 4);
	consume(message);
	run(500);
	assert_true(promised() > before * 3 / 4);
	end();
}

TEST(test_off_it_is_the_buffer)
{
	begin(10, 100, 10);
	*bench_parameter("automatic") = 0;
	run(1000);
	assert_in_range(promised(), BUFFER - BUFFER / 4, BUFFER);
	end();
}
