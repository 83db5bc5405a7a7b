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

static enum nopal_verdict lab_writes_argument(struct nopal_at at, void *subject)
{
	(void)subject;
	letter(*(const char *)nopal_argument(at));
	return NOPAL_CONTINUE;
}

/* Binds a handler of `name`'s to the event, in its order. */
static int bind_own(const char *name, int event, const char *argument, const char *before,
		    const char *after)
{
	const struct nopal_binding binding = {
		.event = (enum nopal_event)event,
		.run.custom = lab_writes_argument,
		.argument = argument,
		.before = before,
		.after = after,
	};

	return nopal_bind(rig_at(rig.opener.session, name), &binding);
}

TEST(test_handlers_of_a_custom_event_have_an_order)
{
	int event = nopal_event_create(rig.opener.session, "MOON_ROSE");

	assert_int_equal(bind_own("lab", event, "l", NULL, NULL), 0);
	assert_int_equal(bind_own("a_tap", event, "t", "lab", NULL), 0);
	assert_int_equal(bind_own("fixed_size", event, "f", NULL, "no_such"), 0);
	assert_int_equal(bind_own("transport_driver", event, "d", "lab", "a_tap"), 0);
	assert_int_equal(bind_own("fixed_size", event, "x", "a_tap", "lab"), -EINVAL);
	nopal_raise_custom(rig.opener.session, event, NULL);
	assert_string_equal(seen, "tdlf");
}

TEST(test_unbind_of_a_custom_event_takes_its_own_handler_alone)
{
	struct nopal_session *session = rig.opener.session;
	int event = nopal_event_create(session, "MOON_ROSE");
	struct nopal_binding binding = { .event = (enum nopal_event)event,
					 .run.custom = lab_writes_argument };

	bind_own("lab", event, "l", NULL, NULL);
	bind_own("a_tap", event, "t", NULL, NULL);
	nopal_unbind(rig_at(session, "a_tap"), &binding);
	nopal_raise_custom(session, event, NULL);
	assert_string_equal(seen, "l");
	nopal_event_delete(session, event);
	nopal_unbind(rig_at(session, "lab"), &binding);
}

TEST(test_bind_to_an_event_that_nobody_created_is_refused)
{
	nopal_event_create(rig.opener.session, "MOON_ROSE");
	assert_int_equal(bind_own("lab", NOPAL_CUSTOM + 1, "l", NULL, NULL), -ENOENT);
	assert_int_equal(bind_own("lab", NOPAL_CUSTOM + NOPAL_CUSTOM_ROOM, "l", NULL, NULL),
			 -ENOENT);
}

/* Takes back the handler behind it, or its whole event, as the subject says. */
static enum nopal_verdict lab_takes_back(struct nopal_at at, void *subject)
{
	int event = nopal_event_find(at.session, "MOON_ROSE");
	const struct nopal_binding binding = { .event = (enum nopal_event)event,
					       .run.custom = lab_writes_argument };

	letter('-');
	if (*(const char *)subject == 'u')
		nopal_unbind(at, &binding);
	else
		nopal_event_delete(at.session, event);
	return NOPAL_CONTINUE;
}

TEST(test_a_custom_raise_in_progress_keeps_its_handlers)
{
	struct nopal_session *session = rig.opener.session;
	int event = nopal_event_create(session, "MOON_ROSE");

	nopal_bind_custom(rig_at(session, "lab"), event, lab_takes_back, NULL);
	bind_own("lab", event, "1", NULL, NULL);
	bind_own("lab", event, "2", NULL, NULL);
	nopal_raise_custom(session, event, "u");
	nopal_raise_custom(session, event, "u");
	assert_string_equal(seen, "-12-");
	bind_own("lab", event, "3", NULL, NULL);
	nopal_raise_custom(session, event, "d");
	nopal_raise_custom(session, event, "d");
	assert_string_equal(seen, "-12--3");
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
