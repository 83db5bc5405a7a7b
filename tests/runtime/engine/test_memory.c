/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "engine/message.h"
#include "engine/segment.h"
#include "support/failing.h"
#include "support/own_rig.h"
#include "support/test.h"

static int setup(void **state)
{
	(void)state;
	rig_open(&rig, "transport_driver {}\nfixed_size {}\n", NULL);
	return 0;
}

EACH_TEST(setup, own_rig_close);

TEST(test_memory_is_charged_and_credited)
{
	struct nopal_composite *composite = nopal__composite(rig.opener.session);
	uint64_t before = composite->awake->bytes_held;
	void *memory = nopal_alloc(&composite->session, 1000);

	assert_int_equal(composite->awake->bytes_held, before + 1000);
	nopal_free(&composite->session, memory);
	assert_int_equal(composite->awake->bytes_held, before);
}

TEST(test_over_budget_is_null)
{
	struct nopal_composite *composite = nopal__composite(rig.opener.session);

	nopal_session_set_budget(
		rig.opener.session,
		&(struct nopal_budget){ .bytes = composite->awake->bytes_held + 100 });
	assert_null(nopal_alloc(&composite->session, 101));
	assert_non_null(nopal_alloc(&composite->session, 100));
	assert_null(nopal_alloc(&composite->session, 1));
}

TEST(test_objects_are_budgeted_too)
{
	struct nopal_segment *first;

	nopal_session_set_budget(rig.opener.session, &(struct nopal_budget){ .objects = 1 });
	first = nopal__segment_make(nopal__composite(rig.opener.session), NOPAL_KIND_DATA);
	assert_non_null(first);
	assert_null(nopal__segment_make(nopal__composite(rig.opener.session), NOPAL_KIND_DATA));
	nopal_segment_drop(rig.opener.session, first);
}

/* Segments and messages share one count. */
TEST(test_messages_are_budgeted_with_segments)
{
	struct nopal_composite *composite = nopal__composite(rig.opener.session);
	uint64_t before = composite->awake->bytes_held;
	struct nopal_segment *segment;
	struct nopal_message *message;

	nopal_session_set_budget(rig.opener.session, &(struct nopal_budget){ .objects = 2 });
	segment = nopal__segment_make(composite, NOPAL_KIND_DATA);
	message = nopal__message_make(composite, 100);
	assert_non_null(message);
	assert_null(nopal__message_make(composite, 100));
	assert_null(nopal__segment_make(composite, NOPAL_KIND_DATA));
	assert_int_equal(composite->awake->bytes_held, before + 100);
	nopal__message_free(composite, message);
	nopal_segment_drop(rig.opener.session, segment);
	assert_int_equal(composite->awake->bytes_held, before);
}

/* Else each failure would take some of the budget away for good. */
TEST(test_what_fails_is_credited_back)
{
	struct nopal_composite *composite = nopal__composite(rig.opener.session);
	uint64_t before = composite->awake->bytes_held;
	struct nopal_message *message;
	void *memory;

	failing_from(1, true);
	memory = nopal_alloc(&composite->session, 1000);
	message = nopal__message_make(composite, 1000);
	assert_int_equal(failing_stop(), 2);
	assert_null(memory);
	assert_null(message);
	assert_int_equal(composite->awake->bytes_held, before);
}

static unsigned alive(const struct nopal_composite *composite)
{
	const struct nopal_memory *memory = composite->memory;
	unsigned count = 0;

	for (; memory; memory = memory->next) {
		if (memory->next)
			assert_ptr_equal(memory->next->previous, memory);
		count++;
	}
	return count;
}

/* In each order: the others stay in the list, which the end of a session frees. */
TEST(test_memory_is_freed_in_any_order)
{
	static const unsigned orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct nopal_composite *composite = nopal__composite(rig.opener.session);
	unsigned before = alive(composite);

	for (unsigned i = 0; i < 6; i++) {
		void *memory[3];

		for (unsigned j = 0; j < 3; j++)
			memory[j] = nopal_alloc(&composite->session, 8);
		for (unsigned j = 0; j < 3; j++) {
			assert_int_equal(alive(composite), before + 3 - j);
			nopal_free(&composite->session, memory[orders[i][j]]);
		}
		assert_int_equal(alive(composite), before);
	}
	nopal_free(&composite->session, NULL);
	assert_non_null(nopal_alloc(&composite->session, 8));
}

/* Such memory is zeroed, and no session counts it. */
TEST(test_memory_without_a_session_is_the_callers)
{
	struct nopal_composite *composite = nopal__composite(rig.opener.session);
	uint64_t held = composite->awake->bytes_held;
	unsigned before = alive(composite);
	uint8_t *bytes = nopal_alloc(NULL, 100);

	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(bytes[i], 0);
	assert_int_equal(composite->awake->bytes_held, held);
	assert_int_equal(alive(composite), before);
	nopal_free(NULL, bytes);
	failing_from(1, false);
	bytes = nopal_alloc(NULL, 100);
	assert_int_equal(failing_stop(), 1);
	assert_null(bytes);
}

TEST(test_a_pool_grows_by_chunks_of_aligned_objects)
{
	enum { CHUNK = 64, BYTES = 25, ALIGNED = 8, STEP = 16 };
	struct nopal_pool *pools = NULL;
	struct nopal_objects ours = { .pool = nopal__pool_of(&pools, BYTES) };
	struct nopal_handle handle;
	uint8_t *object[2 * CHUNK];

	assert_ptr_equal(nopal__pool_of(&pools, BYTES + 1), ours.pool);
	assert_ptr_not_equal(nopal__pool_of(&pools, BYTES - 1), ours.pool);
	assert_ptr_not_equal(nopal__pool_of(&pools, BYTES + STEP), ours.pool);
	assert_ptr_equal(nopal__pool_of(&pools, BYTES), ours.pool);
	for (unsigned i = 0; i < 2 * CHUNK; i++) {
		object[i] = nopal__pool_take(&ours);
		assert_int_equal(nopal__pool_handle(object[i]).index, i);
		assert_int_equal((uintptr_t)object[i] % ALIGNED, 0);
		memset(object[i], (int)i, BYTES);
		assert_int_equal(ours.pool->made, i < CHUNK ? CHUNK : 2 * CHUNK);
	}
	for (unsigned i = 0; i < 2 * CHUNK; i++) {
		assert_int_equal(object[i][0], i);
		assert_int_equal(object[i][BYTES - 1], i);
	}
	handle = (struct nopal_handle){ 2 * CHUNK, 1 };
	assert_null(nopal__pool_find(&ours, handle));
	nopal__pools_free(&pools);
	assert_null(pools);
}

TEST(test_no_memory_for_a_pool_is_no_pool)
{
	struct nopal_pool *pools = NULL, *pool;

	failing_from(1, false);
	pool = nopal__pool_of(&pools, 24);
	assert_int_equal(failing_stop(), 1);
	assert_null(pool);
	assert_null(pools);
}

/* Nor is one of nothing a handle. */
TEST(test_a_handle_is_not_of_who_came_after)
{
	struct nopal_pool *pools = NULL;
	struct nopal_objects ours = { .pool = nopal__pool_of(&pools, 24) };
	struct nopal_handle was, is, none = { 0 };
	void *object;

	object = nopal__pool_take(&ours);
	was = nopal__pool_handle(object);
	nopal__pool_give(&ours, object);
	assert_null(nopal__pool_find(&ours, none));
	assert_ptr_equal(nopal__pool_take(&ours), object);
	is = nopal__pool_handle(object);
	assert_int_equal(is.index, was.index);
	assert_null(nopal__pool_find(&ours, was));
	assert_ptr_equal(nopal__pool_find(&ours, is), object);
	nopal__pools_free(&pools);
}

/* Whichever of the allocations for a pool fails, there is no object, and the next one to be asked
 * for is there. */
TEST(test_a_pool_that_cannot_grow_gives_nothing)
{
	for (uint64_t nth = 1; nth <= 3; nth++) {
		struct nopal_pool *pools = NULL;
		struct nopal_objects ours = { .pool = nopal__pool_of(&pools, 24) };
		void *object;

		failing_from(nth, false);
		object = nopal__pool_take(&ours);
		assert_int_equal(failing_stop(), 1);
		assert_null(object);
		assert_int_equal(ours.alive, 0);
		object = nopal__pool_take(&ours);
		assert_non_null(object);
		assert_ptr_equal(nopal__pool_find(&ours, nopal__pool_handle(object)), object);
		nopal__pools_free(&pools);
	}
}

TEST(test_handles_name_only_the_living)
{
	struct nopal_pool *pools = NULL;
	struct nopal_objects ours = { .pool = nopal__pool_of(&pools, 24) };
	struct nopal_handle handles[200];
	void *objects[200];

	for (unsigned i = 0; i < 200; i++) {
		objects[i] = nopal__pool_take(&ours);
		handles[i] = nopal__pool_handle(objects[i]);
		memset(objects[i], (int)i, 24);
	}
	assert_int_equal(ours.alive, 200);
	for (unsigned i = 0; i < 200; i += 2)
		nopal__pool_give(&ours, objects[i]);
	for (unsigned i = 0; i < 200; i++)
		assert_ptr_equal(nopal__pool_find(&ours, handles[i]), i % 2 ? objects[i] : NULL);
	assert_int_equal(ours.alive, 100);
	nopal__pools_free(&pools);
}

/* Two sessions that take turns at one pool each see their own, oldest first, and what one gives
 * back serves the other. */
TEST(test_sessions_share_a_pool)
{
	struct nopal_pool *pools = NULL;
	struct nopal_objects owner[2] = { { 0 } };
	uint32_t *object;

	owner[0].pool = nopal__pool_of(&pools, sizeof(*object));
	owner[1].pool = nopal__pool_of(&pools, sizeof(*object));
	assert_ptr_equal(owner[0].pool, owner[1].pool);
	assert_ptr_not_equal(nopal__pool_of(&pools, 1000), owner[0].pool);
	for (uint32_t i = 0; i < 60; i++) {
		object = nopal__pool_take(&owner[i % 2]);
		*object = i;
	}
	for (uint32_t who = 0; who < 2; who++) {
		object = nopal__pool_oldest(&owner[who]);
		for (uint32_t i = who; i < 60; i += 2) {
			assert_int_equal(*object, i);
			object = nopal__pool_newer(object);
		}
		assert_null(object);
	}
	while ((object = nopal__pool_oldest(&owner[0])))
		nopal__pool_give(&owner[0], object);
	for (uint32_t i = 0; i < 30; i++)
		assert_non_null(nopal__pool_take(&owner[1]));
	assert_int_equal(owner[1].pool->made, 64);
	assert_int_equal(owner[1].alive, 60);
	nopal__pools_free(&pools);
}

/* The object becomes the newest of the session that it goes to, and its old handle is stale. */
TEST(test_an_object_goes_to_another_session)
{
	struct nopal_pool *pools = NULL;
	struct nopal_objects from = { .pool = nopal__pool_of(&pools, 24) };
	struct nopal_objects to = { .pool = from.pool };
	struct nopal_handle was[3], is;
	void *objects[3], *there = nopal__pool_take(&to);

	for (unsigned i = 0; i < 3; i++) {
		objects[i] = nopal__pool_take(&from);
		was[i] = nopal__pool_handle(objects[i]);
	}
	is = nopal__pool_move(&from, &to, objects[1]);
	assert_null(nopal__pool_find(&from, was[1]));
	assert_ptr_equal(nopal__pool_find(&to, is), objects[1]);
	assert_int_equal(from.alive, 2);
	assert_int_equal(to.alive, 2);
	assert_ptr_equal(nopal__pool_newer(objects[0]), objects[2]);
	assert_ptr_equal(nopal__pool_newer(there), objects[1]);
	assert_null(nopal__pool_newer(objects[1]));
	nopal__pool_give(&to, objects[1]);
	assert_null(nopal__pool_find(&to, is));
	nopal__pools_free(&pools);
}
