/* SPDX-License-Identifier: MIT */
/* Binding at run time, events of a session's own, barriers on any item. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "engine/composite.h"
#include "lab.h"

static void test_bind_and_unbind(void **state)
{
	static const struct nopal_binding extra = NOPAL_ON(SEGMENT_LOST, lab_on_lost_a);
	const struct nopal_part *part = rig_part(rig.opener.session, "lab");

	(void)state;
	assert_int_equal(nopal_bind(rig.opener.session, part, &extra), 0);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "aba");
	nopal_unbind(rig.opener.session, part, &extra);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "abab");
}

static void test_declared_argument_reaches_its_handler(void **state)
{
	(void)state;
	nopal_raise_SEGMENT_ABANDONED(rig.opener.session, segment);
	assert_string_equal(seen, "xy");
}

static void test_bind_before_one_that_runs_runs_first(void **state)
{
	static const struct nopal_binding before =
		NOPAL_ON(SEGMENT_LOST, lab_on_lost_b, .before = "no_such|lab");
	static const struct nopal_binding never =
		NOPAL_ON(SEGMENT_LOST, lab_on_lost_b, .before = "lab", .after = "lab");
	const struct nopal_part *part = rig_part(rig.opener.session, "lab");

	(void)state;
	assert_int_equal(nopal_bind(rig.opener.session, part, &before), 0);
	assert_int_equal(nopal_bind(rig.opener.session, part, &never), -EINVAL);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "bab");
}

static enum nopal_verdict lab_unbinds_b(struct nopal_session *session,
					const struct nopal_part *part,
					struct nopal_segment *subject)
{
	static const struct nopal_binding b = NOPAL_ON(SEGMENT_LOST, lab_on_lost_b);

	(void)subject;
	letter('u');
	nopal_unbind(session, part, &b);
	nopal_bind(session, part, &b);
	return NOPAL_CONTINUE;
}

static void test_a_raise_in_progress_keeps_its_handlers(void **state)
{
	static const struct nopal_binding unbinder = NOPAL_ON(SEGMENT_LOST, lab_unbinds_b);
	const struct nopal_part *part = rig_part(rig.opener.session, "lab");

	(void)state;
	nopal_bind(rig.opener.session, part, &unbinder);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "abu");
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "abuaub");
}

static const char *argument_seen;

static enum nopal_verdict lab_on_custom(struct nopal_session *session,
					const struct nopal_part *part, void *subject)
{
	(void)session;
	argument_seen = part->argument;
	letter(*(char *)subject);
	return NOPAL_CONTINUE;
}

static void test_custom_events_with_static_arguments(void **state)
{
	const struct nopal_part *part = rig_part(rig.opener.session, "lab");
	int event = nopal_event_create(rig.opener.session, "MOON_ROSE");

	(void)state;
	assert_true(event > 0);
	assert_int_equal(nopal_event_create(rig.opener.session, "MOON_ROSE"), -EEXIST);
	assert_int_equal(nopal_event_find(rig.opener.session, "MOON_ROSE"), event);
	assert_int_equal(
		nopal_bind_custom(rig.opener.session, part, event, lab_on_custom, "static"), 0);
	nopal_raise_custom(rig.opener.session, event, "m");
	assert_string_equal(seen, "m");
	assert_string_equal(argument_seen, "static");
	nopal_event_delete(rig.opener.session, event);
	nopal_raise_custom(rig.opener.session, event, "n");
	assert_string_equal(seen, "m");
	assert_int_equal(nopal_event_find(rig.opener.session, "MOON_ROSE"), -ENOENT);
}

static void test_barrier_on_any_item(void **state)
{
	const struct nopal_part *part = rig_part(rig.opener.session, "lab");
	int event = nopal_event_create(rig.opener.session, "ALL_HERE");
	struct nopal_item_barrier barrier;
	char item[] = "!";
	uint32_t first, second;
	uint64_t misuses = nopal_session_counters(rig.opener.session)->misuses;

	(void)state;
	nopal_bind_custom(rig.opener.session, part, event, lab_on_custom, NULL);
	nopal_barrier_init(&barrier, event, item);
	first = nopal_barrier_join(&barrier);
	second = nopal_barrier_join(&barrier);
	nopal_barrier_enter(rig.opener.session, &barrier, second);
	nopal_barrier_enter(rig.opener.session, &barrier, second);
	assert_int_equal(nopal_session_counters(rig.opener.session)->misuses, misuses + 1);
	assert_string_equal(seen, "");
	nopal_barrier_enter(rig.opener.session, &barrier, first);
	assert_string_equal(seen, "!");
	nopal__core(rig.opener.session)->awake->counters.misuses = 0;
}

static void test_thirty_two_members_and_no_more(void **state)
{
	struct nopal_item_barrier barrier;

	(void)state;
	nopal_barrier_init(&barrier, 0, NULL);
	for (unsigned i = 0; i < 32; i++)
		assert_true(nopal_barrier_join(&barrier) == UINT32_C(1) << i);
	assert_int_equal(nopal_barrier_join(&barrier), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_bind_and_unbind),
		CASE(test_declared_argument_reaches_its_handler),
		CASE(test_bind_before_one_that_runs_runs_first),
		CASE(test_a_raise_in_progress_keeps_its_handlers),
		CASE(test_custom_events_with_static_arguments),
		CASE(test_barrier_on_any_item),
		CASE(test_thirty_two_members_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
