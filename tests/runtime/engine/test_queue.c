/* SPDX-License-Identifier: MIT */
/* test_queue -- the ring of handles against a plain array; some segments die. */
#include <stdlib.h>

#include <nopal/microprotocol.h>
#include "support/test.h"

enum { SEGMENTS = 64, STEPS = 50000, MODEL_ROOM = 2 * STEPS + 2 };

static uint64_t state = 5;

static uint64_t draw(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 20;
}

static bool broke;
static struct nopal_segment *segments[SEGMENTS];

void *nopal_alloc(struct nopal_session *session, size_t bytes)
{
	(void)session;
	return broke ? NULL : malloc(bytes);
}

void nopal_free(struct nopal_session *session, void *memory)
{
	(void)session;
	free(memory);
}

struct nopal_segment *nopal_segment_find(struct nopal_session *session, struct nopal_handle handle)
{
	struct nopal_segment *segment = segments[handle.index];

	(void)session;
	return segment->handle.generation == handle.generation ? segment : NULL;
}

/* Which was the last that was fetched before its turn, and how many were. */
static uint32_t fetched, fetches;

void nopal_segment_prefetch(struct nopal_session *session, struct nopal_handle handle)
{
	(void)session;
	fetched = handle.index;
	fetches++;
}

static int set_up(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		segments[i] = calloc(1, sizeof(struct nopal_segment));
		segments[i]->handle = (struct nopal_handle){ i, 1 };
		segments[i]->number = i + 1;
	}
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < SEGMENTS; i++)
		free(segments[i]);
	return 0;
}

ALL_TESTS(tests, set_up, tear_down);

/* The reference: handles in [front, back) of an array, begun in its middle. */
static struct nopal_handle waiting[MODEL_ROOM];
static size_t front = STEPS, back = STEPS;

static bool same(struct nopal_handle a, struct nopal_handle b)
{
	return a.index == b.index && a.generation == b.generation;
}

static void check_first(struct nopal_queue *queue)
{
	struct nopal_segment *first = nopal_queue_first(NULL, queue);

	while (front < back && !nopal_segment_find(NULL, waiting[front]))
		front++;
	assert_int_equal(queue->count, back - front);
	if (front == back)
		assert_null(first);
	else
		assert_true(same(first->handle, waiting[front]));
}

static void insert_into_the_array(const struct nopal_segment *segment)
{
	size_t place = back++;

	for (; place > front; place--) {
		const struct nopal_segment *before = nopal_segment_find(NULL, waiting[place - 1]);

		if (before && before->number <= segment->number)
			break;
		waiting[place] = waiting[place - 1];
	}
	waiting[place] = segment->handle;
}

TEST(agrees_with_an_array)
{
	struct nopal_queue queue = { 0 };

	for (int i = 0; i < STEPS; i++) {
		struct nopal_segment *segment = segments[draw() % SEGMENTS];
		uint64_t dice = draw() % 100;

		/* The queue fills, and later empties. */
		if (dice < (i < STEPS / 2 ? 40u : 25u)) {
			assert_int_equal(nopal_queue_push(NULL, &queue, segment), 0);
			waiting[back++] = segment->handle;
		} else if (dice < 50) {
			assert_int_equal(nopal_queue_insert(NULL, &queue, segment), 0);
			insert_into_the_array(segment);
		} else if (dice < 52) {
			segment->handle.generation += 2; /* freed, used again */
		} else {
			check_first(&queue);
			front += front < back;
			nopal_queue_pop(&queue);
		}
		check_first(&queue);
	}
	nopal_free(NULL, queue.ring);
}

TEST(empty_and_over_budget)
{
	struct nopal_queue queue = { 0 };
	uint32_t pushed = 1;

	assert_null(nopal_queue_first(NULL, &queue));
	nopal_queue_pop(&queue);
	broke = true;
	assert_true(nopal_queue_push(NULL, &queue, segments[0]) < 0);
	assert_true(nopal_queue_insert(NULL, &queue, segments[0]) < 0);
	broke = false;
	assert_int_equal(nopal_queue_push(NULL, &queue, segments[0]), 0);
	broke = true;
	while (nopal_queue_insert(NULL, &queue, segments[pushed]) == 0)
		pushed++;
	broke = false;
	assert_int_equal(queue.count, pushed);
	for (uint32_t i = 0; i < pushed; i++) {
		assert_ptr_equal(nopal_queue_first(NULL, &queue), segments[i]);
		nopal_queue_pop(&queue);
	}
	nopal_free(NULL, queue.ring);
}

/* Resends come in any order and leave the oldest first. */
TEST(inserted_by_age)
{
	static const uint32_t order[] = { 5, 2, 9, 2, 0, 7, 8, 1 };
	static const uint32_t sorted[] = { 0, 1, 2, 2, 5, 7, 8, 9 };
	struct nopal_queue queue = { 0 };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		assert_int_equal(nopal_queue_insert(NULL, &queue, segments[order[i]]), 0);
	for (size_t i = 0; i < sizeof(sorted) / sizeof(sorted[0]); i++) {
		assert_ptr_equal(nopal_queue_first(NULL, &queue), segments[sorted[i]]);
		nopal_queue_pop(&queue);
	}
	nopal_free(NULL, queue.ring);
}

/* Whatever waits, urgent ones leave first, in the order of their coming. */
TEST(urgent_ones_first)
{
	static const uint32_t pushed[] = { 5, 2, 9, 0, 7, 8 };
	static const uint32_t leave[] = { 9, 7, 5, 2, 0, 1, 8 };
	struct nopal_queue queue = { 0 };

	segments[9]->urgent = segments[7]->urgent = true;
	for (size_t i = 0; i < sizeof(pushed) / sizeof(pushed[0]); i++)
		assert_int_equal(nopal_queue_push(NULL, &queue, segments[pushed[i]]), 0);
	assert_int_equal(nopal_queue_insert(NULL, &queue, segments[1]), 0);
	for (size_t i = 0; i < sizeof(leave) / sizeof(leave[0]); i++) {
		assert_ptr_equal(nopal_queue_first(NULL, &queue), segments[leave[i]]);
		nopal_queue_pop(&queue);
	}
	segments[9]->urgent = segments[7]->urgent = false;
	nopal_free(NULL, queue.ring);
}

TEST(urgent_ones_alone)
{
	static const uint32_t pushed[] = { 9, 3, 7 };
	struct nopal_queue queue = { 0 };

	assert_int_equal(nopal_queue_push(NULL, &queue, segments[0]), 0);
	nopal_queue_pop(&queue);
	for (size_t i = 0; i < 3; i++) {
		segments[pushed[i]]->urgent = true;
		assert_int_equal(nopal_queue_push(NULL, &queue, segments[pushed[i]]), 0);
	}
	assert_int_equal(queue.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_ptr_equal(nopal_queue_first(NULL, &queue), segments[pushed[i]]);
		nopal_queue_pop(&queue);
		segments[pushed[i]]->urgent = false;
	}
	nopal_free(NULL, queue.ring);
}

/* While one is first, the one two places behind it is fetched, where there is one. */
TEST(fetched_before_its_turn)
{
	struct nopal_queue queue = { 0 };

	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(nopal_queue_push(NULL, &queue, segments[i]), 0);
	fetches = 0;
	for (uint32_t i = 0; i < 4; i++) {
		assert_ptr_equal(nopal_queue_first(NULL, &queue), segments[i]);
		assert_int_equal(fetches, i < 2 ? i + 1 : 2);
		assert_int_equal(fetched, i < 2 ? i + 2 : 3);
		nopal_queue_pop(&queue);
	}
	nopal_free(NULL, queue.ring);
}

/* Once it has left, an urgent one waits by its age. */
TEST(urgent_once)
{
	struct nopal_queue queue = { 0 };

	segments[7]->urgent = true;
	segments[7]->transmissions = 1;
	assert_int_equal(nopal_queue_push(NULL, &queue, segments[5]), 0);
	assert_int_equal(nopal_queue_insert(NULL, &queue, segments[7]), 0);
	assert_ptr_equal(nopal_queue_first(NULL, &queue), segments[5]);
	segments[7]->urgent = false;
	segments[7]->transmissions = 0;
	nopal_free(NULL, queue.ring);
}

/* Behind all, though it is urgent; those at a place are looked at and taken out, with the ring
 * turned, too. */
TEST(appended_and_removed)
{
	enum { COUNT = 5, ROOM = 16 };

	for (uint32_t turned = 0; turned < ROOM; turned++)
		for (uint32_t gone = 0; gone < COUNT; gone++) {
			struct nopal_queue queue = { .head = 0 };

			broke = true;
			assert_true(nopal_queue_append(NULL, &queue, segments[0]) < 0);
			broke = false;
			segments[COUNT - 1]->urgent = true;
			for (uint32_t i = 0; i < COUNT; i++) {
				assert_int_equal(nopal_queue_append(NULL, &queue, segments[i]), 0);
				if (i > 0)
					continue;
				queue.head = turned;
				queue.ring[turned] = segments[0]->handle;
			}
			segments[COUNT - 1]->urgent = false;
			assert_int_equal(queue.room, ROOM);
			nopal_queue_remove(&queue, gone);
			assert_int_equal(queue.count, COUNT - 1);
			for (uint32_t i = 0; i < COUNT - 1; i++)
				assert_ptr_equal(nopal_queue_at(NULL, &queue, i),
						 segments[i < gone ? i : i + 1]);
			nopal_queue_idle(NULL, &queue);
			assert_non_null(queue.ring);
			queue.count = 0;
			nopal_queue_idle(NULL, &queue);
			assert_null(queue.ring);
			assert_int_equal(queue.head + queue.room, 0);
		}
}

/* ------------------------------------------------------------------- lanes */

enum { GATE = 1, OTHER = 2 };
static const struct nopal_part gate = { .hold[NOPAL_SEND] = GATE };

static void wait_in(struct nopal_lanes *lanes, uint32_t which, bool urgent, uint16_t transmissions)
{
	segments[which]->urgent = urgent;
	segments[which]->transmissions = transmissions;
	segments[which]->waiting[NOPAL_SEND] = GATE;
	assert_int_equal(nopal_lanes_insert(NULL, lanes, segments[which]), 0);
}

static void release_all(void)
{
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		segments[i]->urgent = false;
		segments[i]->transmissions = 0;
		segments[i]->waiting[NOPAL_SEND] = 0;
	}
}

/* Segments that another gate holds are passed; in the order of `leave`, and no more. */
static void they_leave(struct nopal_lanes *lanes, const uint32_t *leave, size_t count)
{
	struct nopal_lane_turn turn = { 0 };
	struct nopal_segment *segment;
	size_t left = 0;

	while ((segment = nopal_lanes_next((struct nopal_at){ NULL, &gate }, lanes, &turn))) {
		if (segment->waiting[NOPAL_SEND] & OTHER) {
			nopal_lanes_pass(&turn);
			continue;
		}
		assert_true(left < count);
		assert_ptr_equal(segment, segments[leave[left++]]);
		nopal_lanes_take(lanes, &turn);
	}
	assert_int_equal(left, count);
}

/* Resends by age, what is urgent, the rest; but the resend of an urgent one goes behind first
 * transmissions that are older. */
TEST(lanes_have_one_order)
{
	static const uint32_t leave[] = { 3, 5, 30, 31, 8, 9, 20, 25 };
	struct nopal_lanes lanes = { 0 };

	assert_false(nopal_lanes_wait(&lanes));
	wait_in(&lanes, 8, false, 0);
	wait_in(&lanes, 20, true, 1);
	wait_in(&lanes, 5, false, 2);
	wait_in(&lanes, 31, true, 0);
	wait_in(&lanes, 25, false, 0);
	wait_in(&lanes, 30, true, 0);
	wait_in(&lanes, 9, false, 0);
	wait_in(&lanes, 3, false, 1);
	assert_true(nopal_lanes_wait(&lanes));
	they_leave(&lanes, leave, sizeof(leave) / sizeof(leave[0]));
	assert_false(nopal_lanes_wait(&lanes));
	release_all();
	nopal_lanes_idle(NULL, &lanes);
	assert_null(lanes.lane[NOPAL_LANE_FIRST].ring);
}

/* A segment that another gate holds stops its lane; one that is done or let go is in nobody's
 * way. */
TEST(lanes_stop_apart)
{
	static const uint32_t first[] = { 20 }, then[] = { 8 };
	static const uint32_t last[] = { 30, 7 };
	struct nopal_lanes lanes = { 0 };

	wait_in(&lanes, 30, true, 0);
	wait_in(&lanes, 7, false, 0);
	wait_in(&lanes, 6, false, 0);
	wait_in(&lanes, 8, false, 0);
	wait_in(&lanes, 20, true, 1);
	segments[6]->done = true;
	segments[30]->waiting[NOPAL_SEND] |= OTHER;
	segments[7]->waiting[NOPAL_SEND] |= OTHER;
	they_leave(&lanes, first, 1);
	segments[6]->done = false;
	segments[7]->waiting[NOPAL_SEND] = 0;
	they_leave(&lanes, then, 1);
	wait_in(&lanes, 7, false, 0);
	segments[30]->waiting[NOPAL_SEND] = GATE;
	they_leave(&lanes, last, 2);
	release_all();
	nopal_lanes_idle(NULL, &lanes);
}
