/* SPDX-License-Identifier: MIT */
/* Binding at run time, events of a session's own, barriers on any item. */
#include <errno.h>

#include "engine/composite.h"
#include "support/lab.h"
#include "support/test.h"

EACH_TEST(lab_setup, own_rig_close);

TEST(test_bind_and_unbind)
{
	static const struct nopal_binding extra = NOPAL_ON(SEGMENT_LOST, lab_on_lost_a);
	struct nopal_at at = rig_at(rig.opener.session, "lab");

	assert_int_equal(nopal_bind(at, &extra), 0);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "aba");
	nopal_unbind(at, &extra);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "abab");
}

TEST(test_declared_argument_reaches_its_handler)
{
	nopal_raise_SEGMENT_ABANDONED(rig.opener.session, segment);
	assert_string_equal(seen, "xy");
}

TEST(test_bind_before_one_that_runs_runs_first)
{
	static const struct nopal_binding before =
		NOPAL_ON(SEGMENT_LOST, lab_on_lost_b, .before = "no_such|lab");
	static const struct nopal_binding never =
		NOPAL_ON(SEGMENT_LOST, lab_on_lost_b, .before = "lab", .after = "lab");
	struct nopal_at at = rig_at(rig.opener.session, "lab");

	assert_int_equal(nopal_bind(at, &before), 0);
	assert_int_equal(nopal_bind(at, &never), -EINVAL);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "bab");
}

static enum nopal_verdict lab_unbinds_b(struct nopal_at at, struct nopal_segment *subject)
{
	static const struct nopal_binding b = NOPAL_ON(SEGMENT_LOST, lab_on_lost_b);

	(void)subject;
	letter('u');
	nopal_unbind(at, &b);
	nopal_bind(at, &b);
	return NOPAL_CONTINUE;
}

TEST(test_a_raise_in_progress_keeps_its_handlers)
{
	static const struct nopal_binding unbinder = NOPAL_ON(SEGMENT_LOST, lab_unbinds_b);
	struct nopal_at at = rig_at(rig.opener.session, "lab");

	nopal_bind(at, &unbinder);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "abu");
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "abuaub");
}

static const char *argument_seen;

static enum nopal_verdict lab_on_custom(struct nopal_at at, void *subject)
{
	argument_seen = nopal_argument(at);
	letter(*(char *)subject);
	return NOPAL_CONTINUE;
}

TEST(test_custom_events_with_static_arguments)
{
	struct nopal_at at = rig_at(rig.opener.session, "lab");
	int event = nopal_event_create(rig.opener.session, "MOON_ROSE");

	assert_true(event > 0);
	assert_int_equal(nopal_event_create(rig.opener.session, "MOON_ROSE"), -EEXIST);
	assert_int_equal(nopal_event_find(rig.opener.session, "MOON_ROSE"), event);
	assert_int_equal(nopal_bind_custom(at, event, lab_on_custom, "static"), 0);
	nopal_raise_custom(rig.opener.session, event, "m");
	assert_string_equal(seen, "m");
	assert_string_equal(argument_seen, "static");
	nopal_event_delete(rig.opener.session, event);
	nopal_raise_custom(rig.opener.session, event, "n");
	assert_string_equal(seen, "m");
	assert_int_equal(nopal_event_find(rig.opener.session, "MOON_ROSE"), -ENOENT);
}

TEST(test_barrier_on_any_item)
{
	struct nopal_at at = rig_at(rig.opener.session, "lab");
	int event = nopal_event_create(rig.opener.session, "ALL_HERE");
	struct nopal_item_barrier barrier;
	char item[] = "!";
	uint32_t first, second;
	uint64_t misuses = nopal_session_counters(rig.opener.session)->misuses;

	nopal_bind_custom(at, event, lab_on_custom, NULL);
	nopal_barrier_init(&barrier, event, item);
	first = nopal_barrier_join(&barrier);
	second = nopal_barrier_join(&barrier);
	nopal_barrier_enter(rig.opener.session, &barrier, second);
	nopal_barrier_enter(rig.opener.session, &barrier, second);
	assert_int_equal(nopal_session_counters(rig.opener.session)->misuses, misuses + 1);
	assert_string_equal(seen, "");
	nopal_barrier_enter(rig.opener.session, &barrier, first);
	assert_string_equal(seen, "!");
	nopal__composite(rig.opener.session)->awake->counters.misuses = 0;
}

TEST(test_thirty_two_members_and_no_more)
{
	struct nopal_item_barrier barrier;

	nopal_barrier_init(&barrier, 0, NULL);
	for (unsigned i = 0; i < 32; i++)
		assert_true(nopal_barrier_join(&barrier) == UINT32_C(1) << i);
	assert_int_equal(nopal_barrier_join(&barrier), 0);
}
