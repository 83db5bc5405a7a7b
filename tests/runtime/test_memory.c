/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;

static int setup(void **state)
{
	(void)state;
	rig_open(&rig, "transport_driver {}\nfixed_size {}\n", NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static void test_memory_is_charged_and_credited(void **state)
{
	struct nopal_core *core = nopal__core(rig.opener.session);
	uint64_t before = core->bytes_held;
	void *memory = nopal_alloc(&core->session, 1000);

	(void)state;
	assert_int_equal(core->bytes_held, before + 1000);
	nopal_free(&core->session, memory);
	assert_int_equal(core->bytes_held, before);
}

static void test_over_budget_is_null(void **state)
{
	struct nopal_core *core = nopal__core(rig.opener.session);

	(void)state;
	nopal_session_set_budget(
		rig.opener.session,
		&(struct nopal_budget){ .bytes = core->bytes_held + 100 });
	assert_null(nopal_alloc(&core->session, 101));
	assert_non_null(nopal_alloc(&core->session, 100));
	assert_null(nopal_alloc(&core->session, 1));
}

static void test_objects_are_budgeted_too(void **state)
{
	struct nopal_segment *first;

	(void)state;
	nopal_session_set_budget(rig.opener.session,
				 &(struct nopal_budget){ .objects = 1 });
	first = nopal__segment_make(nopal__core(rig.opener.session),
				    NOPAL_KIND_DATA);
	assert_non_null(first);
	assert_null(nopal__segment_make(nopal__core(rig.opener.session),
					NOPAL_KIND_DATA));
	nopal_segment_drop(rig.opener.session, first);
}

static void test_handles_name_only_the_living(void **state)
{
	struct nopal_pool pool;
	struct nopal_handle handles[200];
	void *objects[200];

	(void)state;
	nopal__pool_init(&pool, 24);
	for (unsigned i = 0; i < 200; i++) {
		objects[i] = nopal__pool_take(&pool, &handles[i]);
		memset(objects[i], (int)i, 24);
	}
	assert_int_equal(pool.alive, 200);
	for (unsigned i = 0; i < 200; i += 2)
		nopal__pool_give(&pool, handles[i]);
	for (unsigned i = 0; i < 200; i++)
		assert_ptr_equal(nopal__pool_find(&pool, handles[i]),
				 i % 2 ? objects[i] : NULL);
	assert_int_equal(pool.alive, 100);
	nopal__pool_fini(&pool);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_memory_is_charged_and_credited),
		CASE(test_over_budget_is_null),
		CASE(test_objects_are_budgeted_too),
		CASE(test_handles_name_only_the_living),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
