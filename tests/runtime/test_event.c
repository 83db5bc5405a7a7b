/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "registry.h"
#include "rig.h"

/* A microprotocol whose handlers of SEGMENT_LOST write a letter each. */
static char seen[64];
static bool stop_at_b;

static void letter(char c)
{
	size_t length = strlen(seen);

	if (length + 1 < sizeof(seen))
		seen[length] = c;
}

static enum nopal_verdict lab_on_lost_a(struct nopal_session *session,
					const struct nopal_part *part,
					struct nopal_segment *segment)
{
	(void)session;
	(void)part;
	(void)segment;
	letter('a');
	return NOPAL_CONTINUE;
}

static enum nopal_verdict lab_on_lost_b(struct nopal_session *session,
					const struct nopal_part *part,
					struct nopal_segment *segment)
{
	(void)session;
	(void)part;
	(void)segment;
	letter('b');
	return stop_at_b ? NOPAL_STOP : NOPAL_CONTINUE;
}

static enum nopal_verdict lab_on_timeout(struct nopal_session *session,
					 const struct nopal_part *part,
					 struct nopal_segment *segment)
{
	(void)part;
	letter('(');
	nopal_queue_SEGMENT_LOST(session, segment);
	nopal_raise_SEGMENT_LOST(session, segment);
	letter(')');
	return NOPAL_CONTINUE;
}

static enum nopal_verdict lab_on_turn_end(struct nopal_session *session,
					  const struct nopal_part *part,
					  struct nopal_session *subject)
{
	(void)part;
	(void)session;
	(void)subject;
	return NOPAL_CONTINUE;
}

/* Raises itself for ever. */
static enum nopal_verdict lab_on_resend(struct nopal_session *session,
					const struct nopal_part *part,
					struct nopal_segment *segment)
{
	(void)part;
	nopal_raise_SEGMENT_RESEND(session, segment);
	return NOPAL_CONTINUE;
}

static const struct nopal_binding lab_bindings[] = {
	NOPAL_ON(SEGMENT_LOST, lab_on_lost_a),
	NOPAL_ON(SEGMENT_LOST, lab_on_lost_b),
	NOPAL_ON(SEGMENT_TIMEOUT, lab_on_timeout),
	NOPAL_ON(SEGMENT_RESEND, lab_on_resend),
	NOPAL_ON(TURN_END, lab_on_turn_end),
	{ 0 },
};

static const struct nopal_microprotocol lab = {
	.abi = NOPAL_ABI,
	.name = "lab",
	.family = "check",
	.summary = "handlers for the test of events",
	.bindings = lab_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.holds = (const struct nopal_hold[]){ { "the test", NOPAL_DEALLOCATE,
						NOPAL_DATA, false },
					      { 0 } },
};

static struct rig rig;
static struct nopal_segment *segment;

static int setup(void **state)
{
	struct nopal_problems problems;

	(void)state;
	nopal_problems_init(&problems);
	if (!nopal_registry_find("lab"))
		nopal__registry_add(&lab, "test_event.c", &problems);
	nopal_problems_fini(&problems);
	memset(seen, 0, sizeof(seen));
	stop_at_b = false;
	rig_open(&rig, "transport_driver {}\nfixed_size {}\nlab {}\na_tap {}\n",
		 NULL);
	rig_send(&rig, "x");
	segment = rig_segment(rig.opener.session, 2);
	return segment ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static void test_handlers_run_in_order(void **state)
{
	(void)state;
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "ab");
}

static void test_stop_hides_the_event_from_later_handlers(void **state)
{
	static const struct nopal_binding extra =
		NOPAL_ON(SEGMENT_LOST, lab_on_lost_a);

	(void)state;
	nopal_bind(rig.opener.session, rig_part(rig.opener.session, "lab"),
		   &extra);
	stop_at_b = true;
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "ab");
}

static void test_queued_raises_run_after_the_current_one(void **state)
{
	(void)state;
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	assert_string_equal(seen, "(ab)ab");
}

static void test_delayed_raise_comes_in_time(void **state)
{
	(void)state;
	nopal_delay_SEGMENT_LOST(rig.opener.session, segment,
				 5 * NOPAL_MILLISECOND);
	rig_run(&rig, 4 * NOPAL_MILLISECOND);
	assert_string_equal(seen, "");
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_string_equal(seen, "ab");
}

static void test_cancelled_raise_never_comes(void **state)
{
	nopal_token token;

	(void)state;
	token = nopal_delay_SEGMENT_LOST(rig.opener.session, segment,
					 NOPAL_MILLISECOND);
	nopal_delay_SEGMENT_LOST(rig.opener.session, segment,
				 2 * NOPAL_MILLISECOND);
	nopal_cancel(rig.opener.session, token);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "ab");
}

static void test_stale_subject_is_a_counted_no_op(void **state)
{
	uint64_t stale;

	(void)state;
	nopal_delay_SEGMENT_LOST(rig.opener.session, segment,
				 NOPAL_MILLISECOND);
	nopal_release(rig.opener.session, rig_part(rig.opener.session, "lab"),
		      segment, NOPAL_DEALLOCATE);
	stale = nopal_session_counters(rig.opener.session)->stale_handles;
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "");
	assert_int_equal(
		nopal_session_counters(rig.opener.session)->stale_handles,
		stale + 1);
}

static void test_endless_nesting_breaks_the_session_only(void **state)
{
	(void)state;
	nopal_raise_SEGMENT_RESEND(rig.opener.session, segment);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
}

/* ------------------------------------------------------------ bind at run time */

static void test_bind_and_unbind(void **state)
{
	static const struct nopal_binding extra =
		NOPAL_ON(SEGMENT_LOST, lab_on_lost_a);
	const struct nopal_part *part = rig_part(rig.opener.session, "lab");

	(void)state;
	assert_int_equal(nopal_bind(rig.opener.session, part, &extra), 0);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "aba");
	nopal_unbind(rig.opener.session, part, &extra);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "abab");
}

static enum nopal_verdict lab_unbinds_b(struct nopal_session *session,
					const struct nopal_part *part,
					struct nopal_segment *subject)
{
	static const struct nopal_binding b =
		NOPAL_ON(SEGMENT_LOST, lab_on_lost_b);

	(void)subject;
	letter('u');
	nopal_unbind(session, part, &b);
	nopal_bind(session, part, &b);
	return NOPAL_CONTINUE;
}

static void test_a_raise_in_progress_keeps_its_handlers(void **state)
{
	static const struct nopal_binding unbinder =
		NOPAL_ON(SEGMENT_LOST, lab_unbinds_b);
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
					const struct nopal_part *part,
					void *subject)
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
	assert_int_equal(nopal_event_create(rig.opener.session, "MOON_ROSE"),
			 -EEXIST);
	assert_int_equal(nopal_event_find(rig.opener.session, "MOON_ROSE"),
			 event);
	assert_int_equal(nopal_bind_custom(rig.opener.session, part, event,
					   lab_on_custom, "static"),
			 0);
	nopal_raise_custom(rig.opener.session, event, "m");
	assert_string_equal(seen, "m");
	assert_string_equal(argument_seen, "static");
	nopal_event_delete(rig.opener.session, event);
	nopal_raise_custom(rig.opener.session, event, "n");
	assert_string_equal(seen, "m");
	assert_int_equal(nopal_event_find(rig.opener.session, "MOON_ROSE"),
			 -ENOENT);
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
	assert_int_equal(nopal_session_counters(rig.opener.session)->misuses,
			 misuses + 1);
	assert_string_equal(seen, "");
	nopal_barrier_enter(rig.opener.session, &barrier, first);
	assert_string_equal(seen, "!");
	nopal__core(rig.opener.session)->counters.misuses = 0;
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
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_handlers_run_in_order),
		CASE(test_stop_hides_the_event_from_later_handlers),
		CASE(test_queued_raises_run_after_the_current_one),
		CASE(test_delayed_raise_comes_in_time),
		CASE(test_cancelled_raise_never_comes),
		CASE(test_stale_subject_is_a_counted_no_op),
		CASE(test_endless_nesting_breaks_the_session_only),
		CASE(test_bind_and_unbind),
		CASE(test_a_raise_in_progress_keeps_its_handlers),
		CASE(test_custom_events_with_static_arguments),
		CASE(test_barrier_on_any_item),
		CASE(test_thirty_two_members_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
