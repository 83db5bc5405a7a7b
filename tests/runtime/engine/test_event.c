/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "engine/event.h"
#include "engine/message.h"
#include "engine/turn.h"
#include "support/lab.h"
#include "support/records.h"
#include "support/test.h"

EACH_TEST(lab_setup, own_rig_close);

TEST(test_handlers_run_in_order)
{
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "ab");
}

TEST(test_stop_hides_the_event_from_later_handlers)
{
	static const struct nopal_binding extra = NOPAL_ON(SEGMENT_LOST, lab_on_lost_a);

	nopal_bind(rig_at(rig.opener.session, "lab"), &extra);
	stop_at_b = true;
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "ab");
}

TEST(test_queued_raises_run_after_the_current_one)
{
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	assert_string_equal(seen, "(ab)ab");
}

TEST(test_delayed_raise_comes_in_time)
{
	nopal_delay_SEGMENT_LOST(rig.opener.session, segment, 5 * NOPAL_MILLISECOND);
	rig_run(&rig, 4 * NOPAL_MILLISECOND);
	assert_string_equal(seen, "");
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_string_equal(seen, "ab");
}

TEST(test_cancelled_raise_never_comes)
{
	nopal_token token;

	token = nopal_delay_SEGMENT_LOST(rig.opener.session, segment, NOPAL_MILLISECOND);
	nopal_delay_SEGMENT_LOST(rig.opener.session, segment, 2 * NOPAL_MILLISECOND);
	nopal_cancel(rig.opener.session, token);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "ab");
}

TEST(test_stale_subject_is_a_counted_no_op)
{
	uint64_t stale;

	nopal_delay_SEGMENT_LOST(rig.opener.session, segment, NOPAL_MILLISECOND);
	nopal_release(rig_at(rig.opener.session, "lab"), segment, NOPAL_DEALLOCATE);
	stale = nopal_session_counters(rig.opener.session)->stale_handles;
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "");
	assert_int_equal(nopal_session_counters(rig.opener.session)->stale_handles, stale + 1);
}

TEST(test_endless_nesting_breaks_the_session_only)
{
	nopal_raise_SEGMENT_RESEND(rig.opener.session, segment);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 32);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
}

static struct nopal_handle before_yield;

static enum nopal_verdict yielding(struct nopal_at at, struct nopal_segment *subject)
{
	before_yield = subject->handle;
	nopal_queue_SEGMENT_LOST(at.session, subject);
	letter('<');
	assert_true(nopal_yield(at.session));
	letter('>');
	assert_ptr_equal(nopal_segment_find(at.session, before_yield), subject);
	return NOPAL_CONTINUE;
}

TEST(test_a_handler_that_yields_lets_queued_ones_run)
{
	const struct nopal_binding last = NOPAL_ON(SEGMENT_TIMEOUT, yielding);

	nopal_bind(rig_at(rig.opener.session, "lab"), &last);
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	assert_string_equal(seen, "(ab)<abab>");
	assert_int_equal(nopal__composite(rig.opener.session)->depth, 0);
}

static enum nopal_verdict yields_for_ever(struct nopal_at at, struct nopal_segment *subject)
{
	nopal_queue_SEGMENT_TIMEOUT(at.session, subject);
	nopal_yield(at.session);
	return NOPAL_CONTINUE;
}

TEST(test_endless_yielding_breaks_the_session_only)
{
	const struct nopal_binding last = NOPAL_ON(SEGMENT_TIMEOUT, yields_for_ever);

	nopal_bind(rig_at(rig.opener.session, "lab"), &last);
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
}

static enum nopal_verdict yields_again(struct nopal_at at, struct nopal_segment *subject)
{
	nopal_queue_SEGMENT_RECEIVED(at.session, subject);
	nopal_yield(at.session);
	return NOPAL_CONTINUE;
}

/* The same, where it is a yield that goes beyond. */
TEST(test_yielding_has_the_limit_of_raising)
{
	const struct nopal_binding last = NOPAL_ON(SEGMENT_RECEIVED, yields_again);

	nopal_bind(rig_at(rig.opener.session, "lab"), &last);
	nopal_queue_SEGMENT_RECEIVED(rig.opener.session, segment);
	assert_false(nopal_yield(rig.opener.session));
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
	assert_non_null(strstr(rig.opener.end_text, "yield"));
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RECEIVED), 16);
}

static enum nopal_verdict queues_for_ever(struct nopal_at at, struct nopal_segment *subject)
{
	nopal_queue_SEGMENT_RECEIVED(at.session, subject);
	return NOPAL_CONTINUE;
}

TEST(test_a_storm_of_queued_raises_breaks_the_session_only)
{
	const struct nopal_binding last = NOPAL_ON(SEGMENT_RECEIVED, queues_for_ever);
	uint64_t raises = nopal_session_counters(rig.opener.session)->raises;

	nopal_bind(rig_at(rig.opener.session, "lab"), &last);
	nopal_raise_SEGMENT_RECEIVED(rig.opener.session, segment);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
	/* the first one, so many queued ones, and the end */
	assert_int_equal(rig.opener.counters.raises - raises, 1 + 1000000 + 1);
}

TEST(test_events_have_names_and_others_have_none)
{
	assert_string_equal(nopal_event_name(NOPAL_SEGMENT_LOST), "SEGMENT_LOST");
	assert_string_equal(nopal_event_argument(NOPAL_SEGMENT_LOST), "struct nopal_segment");
	assert_non_null(nopal_event_name(NOPAL_EVENT_COUNT - 1));
	assert_non_null(nopal_event_doc(NOPAL_EVENT_COUNT - 1));
	assert_non_null(nopal_event_argument(NOPAL_EVENT_COUNT - 1));
	assert_null(nopal_event_name(NOPAL_EVENT_COUNT));
	assert_null(nopal_event_doc(NOPAL_EVENT_COUNT));
	assert_null(nopal_event_argument(NOPAL_EVENT_COUNT));
}

/* The lab's TIMEOUT has one LOST within it, and one after it. */
TEST(test_raises_are_counted)
{
	const struct nopal_counters *counters = nopal_session_counters(rig.opener.session);
	struct nopal_counters before = *counters;

	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	assert_int_equal(counters->raises, before.raises + 3);
	assert_int_equal(counters->segments_timeout, before.segments_timeout + 1);
	assert_int_equal(counters->segments_lost, before.segments_lost + 2);
}

TEST(test_raises_are_recorded_with_subject_and_depth)
{
	const struct record *timeout, *lost;

	records_start(rig.world);
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	nopal__note(nopal__composite(rig.opener.session), 7, 8, 9);
	records_stop(rig.world);
	timeout = record_of(NOPAL_TRACED_RAISE, NOPAL_SEGMENT_TIMEOUT);
	lost = record_of(NOPAL_TRACED_RAISE, NOPAL_SEGMENT_LOST);
	assert_int_equal(record_count, 4);
	assert_int_equal(timeout->a, segment->number);
	assert_int_equal(timeout->b, 0);
	assert_int_equal(timeout->session, nopal_session_id(rig.opener.session));
	assert_int_equal(lost->b, 1);
	assert_int_equal(records[2].b, 0);
	assert_int_equal(record_of(NOPAL_TRACED_NOTE, 7)->a, 8);
	assert_int_equal(record_of(NOPAL_TRACED_NOTE, 7)->b, 9);
}

/* A segment has what it sent of them, a message its outcome, and nothing is pinned. */
TEST(test_a_raise_keeps_its_subject_as_long_as_it_lasts)
{
	uint32_t pins = segment->pins;

	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	assert_int_equal(segment->pins, pins);
	assert_int_equal(nopal__composite(rig.opener.session)->depth, 0);
}

static enum nopal_verdict lab_frees(struct nopal_at at, struct nopal_segment *subject)
{
	nopal_release(at, subject, NOPAL_DEALLOCATE);
	assert_ptr_equal(nopal_segment_find(at.session, subject->handle), subject);
	return NOPAL_CONTINUE;
}

TEST(test_who_is_freed_within_a_raise_goes_after_it)
{
	const struct nopal_binding last = NOPAL_ON(SEGMENT_LOST, lab_frees);
	struct nopal_handle handle = segment->handle;

	nopal_bind(rig_at(rig.opener.session, "lab"), &last);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	assert_null(nopal_segment_find(rig.opener.session, handle));
}

static bool lab_stops;

static enum nopal_verdict lab_filters(struct nopal_at at, struct nopal_segment *subject)
{
	(void)at;
	(void)subject;
	return lab_stops ? NOPAL_STOP : NOPAL_CONTINUE;
}

/* Data of the peer's go on by themselves, unless a filter stops them. */
TEST(test_what_no_filter_stops_goes_on)
{
	const struct nopal_binding filter = NOPAL_ON(SEGMENT_FROM_NET, lab_filters);

	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig_count(&rig.acceptor, NOPAL_SEGMENT_VERIFIED), 1);
	nopal_bind(rig_at(rig.acceptor.session, "lab"), &filter);
	for (unsigned i = 0; i < 3; i++) {
		lab_stops = i < 2;
		rig_send(&rig, "y");
		rig_run(&rig, NOPAL_SECOND);
		assert_int_equal(nopal_session_counters(rig.acceptor.session)->segments_stopped,
				 i < 2 ? i + 1 : 2);
		assert_int_equal(rig.acceptor.delivered, i < 2 ? 1 : 2);
	}
}

TEST(test_an_ended_session_raises_nothing)
{
	struct nopal_session *session = rig.opener.session;
	struct nopal_composite *composite = nopal__composite(session);
	bool outermost = nopal__turn_begin(rig.world);
	uint64_t raises;

	nopal__touch(composite);
	nopal_session_abort(session, "test");
	raises = composite->awake->counters.raises;
	nopal_raise_SEGMENT_LOST(session, segment);
	assert_string_equal(seen, "");
	assert_int_equal(composite->awake->counters.raises, raises);
	nopal__turn_end(rig.world, outermost);
}

/* ------------------------------------------------------- queued and delayed */

static unsigned lab_bursts;

/* Queues two LOST and an ABANDONED, so often. */
static enum nopal_verdict lab_bursts_out(struct nopal_at at, struct nopal_segment *subject)
{
	for (unsigned i = 0; i < lab_bursts; i++) {
		nopal_queue_SEGMENT_LOST(at.session, subject);
		nopal_queue_SEGMENT_LOST(at.session, subject);
		nopal_queue_SEGMENT_ABANDONED(at.session, subject);
	}
	return NOPAL_STOP;
}

/* Its ring has turned when it grows. */
TEST(test_a_queue_that_grows_keeps_its_order)
{
	static const struct nopal_binding first = NOPAL_ON(SEGMENT_TIMEOUT, lab_bursts_out);
	struct nopal_at at = rig_at(rig.opener.session, "lab");
	struct nopal_awake *awake = rig_awake(rig.opener.session);
	uint64_t held, was = awake->queue.room;

	nopal_bind(at, &first);
	held = awake->bytes_held;
	for (lab_bursts = 1; lab_bursts <= 6; lab_bursts++) {
		memset(seen, 0, sizeof(seen));
		nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
		assert_int_equal(strlen(seen), 6 + 6 * lab_bursts);
		assert_memory_equal(seen, "(ab)ab", 6);
		for (unsigned i = 0; i < lab_bursts; i++)
			assert_memory_equal(seen + 6 + 6 * i, "ababxy", 6);
	}
	assert_true(awake->queue.room > was);
	assert_int_equal(awake->bytes_held - held,
			 (awake->queue.room - was) * sizeof(*awake->queue.entries));
}

static struct nopal_awake *over_budget(void)
{
	struct nopal_awake *awake = rig_awake(rig.opener.session);

	nopal_session_set_budget(rig.opener.session,
				 &(struct nopal_budget){ .bytes = awake->bytes_held + 1 });
	return awake;
}

TEST(test_no_room_for_a_queued_raise_ends_the_session)
{
	struct nopal_awake *awake = over_budget();

	for (unsigned i = awake->queue.room + 1; i; i--)
		nopal_queue_SEGMENT_LOST(rig.opener.session, segment);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_RESOURCE);
	assert_string_equal(seen, "");
}

TEST(test_no_room_for_a_delayed_raise_has_no_token)
{
	struct nopal_awake *awake = over_budget();

	for (unsigned i = awake->delayed.room; i; i--)
		assert_true(nopal_delay_SEGMENT_LOST(rig.opener.session, segment, 1) > 0);
	assert_int_equal(nopal_delay_SEGMENT_LOST(rig.opener.session, segment, 1), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_RESOURCE);
}

/* Segments, messages and what has no handle, at once and later. */
TEST(test_every_kind_of_subject_waits)
{
	struct nopal_session *session = rig.opener.session;
	struct nopal_message *message;
	uint32_t before = rig_count(&rig.opener, NOPAL_MSG_CONSUMED);

	message = nopal__message_make(nopal__composite(session), 0);
	nopal_queue_MSG_CONSUMED(session, message);
	nopal_queue_PATH_NARROWED(session, session);
	nopal_delay_MSG_CONSUMED(session, message, 5);
	nopal_delay_PATH_NARROWED(session, session, 5);
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_MSG_CONSUMED), before + 2);
	assert_int_equal(rig_count(&rig.opener, NOPAL_PATH_NARROWED), 2);
	nopal_queue_MSG_CONSUMED(session, message);
	nopal__message_free(nopal__composite(session), message);
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_MSG_CONSUMED), before + 2);
}

/* Outside any raise, it waits for the end of the turn. */
TEST(test_a_raise_queued_from_outside_comes_in_its_turn)
{
	nopal_queue_SEGMENT_LOST(rig.opener.session, segment);
	assert_string_equal(seen, "");
	nopal__turn_end(rig.world, nopal__turn_begin(rig.world));
	assert_string_equal(seen, "ab");
}

/* The first, one between, the last; and one that was never given out. */
TEST(test_a_cancelled_raise_leaves_the_others)
{
	static const char *const left[] = { "xyab", "abab", "abxy", "abxyab" };

	for (unsigned gone = 0; gone < 4; gone++) {
		struct nopal_session *session = rig.opener.session;
		nopal_token token[] = {
			nopal_delay_SEGMENT_LOST(session, segment, 10),
			nopal_delay_SEGMENT_ABANDONED(session, segment, 20),
			nopal_delay_SEGMENT_LOST(session, segment, 30),
			0,
		};

		for (unsigned i = 0; i < 3; i++)
			assert_true(token[i] > 0);
		memset(seen, 0, sizeof(seen));
		nopal_cancel(session, token[gone]);
		nopal_cancel(session, token[gone]);
		rig_run(&rig, NOPAL_SECOND);
		assert_string_equal(seen, left[gone]);
	}
}

/* ------------------------------------------------------------ events of its own */

static bool custom_stops;

static enum nopal_verdict lab_on_custom(struct nopal_at at, void *subject)
{
	letter(*(char *)subject);
	assert_int_equal(nopal__composite(at.session)->depth, 1);
	if (!custom_stops)
		nopal_queue_SEGMENT_LOST(at.session, segment);
	return custom_stops ? NOPAL_STOP : NOPAL_CONTINUE;
}

TEST(test_a_custom_event_is_raised_as_others_are)
{
	struct nopal_session *session = rig.opener.session;
	struct nopal_at at = rig_at(session, "lab");
	int event = nopal_event_create(session, "MOON_ROSE");
	uint64_t raises = nopal_session_counters(session)->raises;

	for (unsigned i = 0; i < 2; i++)
		nopal_bind_custom(at, event, lab_on_custom, NULL);
	custom_stops = false;
	nopal_raise_custom(session, event, "m");
	assert_string_equal(seen, "mmabab");
	assert_int_equal(nopal_session_counters(session)->raises, raises + 3);
	custom_stops = true;
	nopal_raise_custom(session, event, "n");
	assert_string_equal(seen, "mmababn");
	assert_int_equal(nopal__composite(session)->depth, 0);
	assert_null(nopal__composite(session)->awake->running);
}

static enum nopal_verdict lab_on_later(struct nopal_at at, void *subject)
{
	letter(*(const char *)nopal_argument(at));
	if (subject)
		letter(*(char *)subject);
	return NOPAL_CONTINUE;
}

/* An event of the opener's, whose handler writes its argument, and its subject. */
static int lab_event(const char *name, const char *argument)
{
	int event = nopal_event_create(rig.opener.session, name);

	assert_true(event >= NOPAL_CUSTOM);
	assert_int_equal(
		nopal_bind_custom(rig_at(rig.opener.session, "lab"), event, lab_on_later, argument),
		0);
	return event;
}

/* In line with others that wait, and after the event that raised it. */
static enum nopal_verdict lab_queues_own(struct nopal_at at, struct nopal_segment *subject)
{
	int event = nopal_event_find(at.session, "MOON_ROSE");

	nopal_queue_custom(at.session, event, "1");
	nopal_queue_SEGMENT_LOST(at.session, subject);
	nopal_queue_custom(at.session, event, NULL);
	letter('-');
	return NOPAL_CONTINUE;
}

TEST(test_a_custom_event_that_is_queued_comes_after_the_current_one)
{
	static const struct nopal_binding last = NOPAL_ON(SEGMENT_TIMEOUT, lab_queues_own);

	lab_event("MOON_ROSE", "m");
	nopal_bind(rig_at(rig.opener.session, "lab"), &last);
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	assert_string_equal(seen, "(ab)-abm1abm");
}

TEST(test_a_custom_event_that_is_delayed_comes_in_time)
{
	int event = lab_event("MOON_ROSE", "m");

	assert_true(nopal_delay_custom(rig.opener.session, event, "6", 6 * NOPAL_MILLISECOND) > 0);
	nopal_delay_SEGMENT_LOST(rig.opener.session, segment, 5 * NOPAL_MILLISECOND);
	assert_true(nopal_delay_custom(rig.opener.session, event, NULL, 3 * NOPAL_MILLISECOND) > 0);
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_string_equal(seen, "");
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_string_equal(seen, "m");
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "mabm6");
}

TEST(test_a_custom_event_that_is_cancelled_never_comes)
{
	int event = lab_event("MOON_ROSE", "m");
	nopal_token token = nopal_delay_custom(rig.opener.session, event, "1", 1);

	nopal_delay_custom(rig.opener.session, event, "2", 2);
	nopal_cancel(rig.opener.session, token);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "m2");
}

/* Its place is another one's by the time of its raise. */
TEST(test_a_custom_event_that_was_deleted_is_a_counted_no_op)
{
	struct nopal_session *session = rig.opener.session;
	uint64_t stale = nopal_session_counters(session)->stale_handles;
	int event = lab_event("MOON_ROSE", "m");

	nopal_queue_custom(session, event, "q");
	nopal_delay_custom(session, event, "d", 1);
	nopal_event_delete(session, event);
	assert_int_equal(lab_event("SUN_ROSE", "s"), event);
	nopal_queue_custom(session, event, NULL);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "s");
	assert_int_equal(nopal_session_counters(session)->stale_handles, stale + 2);
}

TEST(test_an_event_that_nobody_created_does_not_wait)
{
	nopal_queue_custom(rig.opener.session, NOPAL_CUSTOM, "q");
	assert_int_equal(nopal_delay_custom(rig.opener.session, NOPAL_CUSTOM, "d", 1), 0);
	assert_int_equal(nopal_delay_custom(rig.opener.session, -ENOENT, "d", 1), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(seen, "");
}
