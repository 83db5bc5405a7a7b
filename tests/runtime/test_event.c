/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

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

static struct nopal_handle before_yield;

static enum nopal_verdict yielding(struct nopal_session *session,
				   const struct nopal_part *part,
				   struct nopal_segment *subject)
{
	(void)part;
	before_yield = subject->handle;
	nopal_queue_SEGMENT_LOST(session, subject);
	letter('<');
	assert_true(nopal_yield(session));
	letter('>');
	assert_ptr_equal(nopal_segment_find(session, before_yield), subject);
	return NOPAL_CONTINUE;
}

static void test_a_handler_that_yields_lets_queued_ones_run(void **state)
{
	const struct nopal_binding last = NOPAL_ON(SEGMENT_TIMEOUT, yielding);

	(void)state;
	nopal_bind(rig.opener.session, rig_part(rig.opener.session, "lab"),
		   &last);
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	assert_string_equal(seen, "(ab)<abab>");
}

static enum nopal_verdict yields_for_ever(struct nopal_session *session,
					  const struct nopal_part *part,
					  struct nopal_segment *subject)
{
	(void)part;
	nopal_queue_SEGMENT_TIMEOUT(session, subject);
	nopal_yield(session);
	return NOPAL_CONTINUE;
}

static void test_endless_yielding_breaks_the_session_only(void **state)
{
	const struct nopal_binding last =
		NOPAL_ON(SEGMENT_TIMEOUT, yields_for_ever);

	(void)state;
	nopal_bind(rig.opener.session, rig_part(rig.opener.session, "lab"),
		   &last);
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
}

int main(void)
{
#define CASE(name)                                                             \
	cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_handlers_run_in_order),
		CASE(test_stop_hides_the_event_from_later_handlers),
		CASE(test_queued_raises_run_after_the_current_one),
		CASE(test_delayed_raise_comes_in_time),
		CASE(test_cancelled_raise_never_comes),
		CASE(test_stale_subject_is_a_counted_no_op),
		CASE(test_endless_nesting_breaks_the_session_only),
		CASE(test_a_handler_that_yields_lets_queued_ones_run),
		CASE(test_endless_yielding_breaks_the_session_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
