/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "support/lab.h"
#include "support/test.h"

EACH_TEST(lab_setup, own_rig_close);

static char where[256];

static enum nopal_verdict asks(struct nopal_at at, struct nopal_segment *subject)
{
	(void)at;
	(void)subject;
	nopal_whereabouts(where, sizeof(where));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict raises_and_asks(struct nopal_at at, struct nopal_segment *subject)
{
	nopal_raise_SEGMENT_LOST(at.session, subject);
	return asks(at, subject);
}

static enum nopal_verdict asks_of_custom(struct nopal_at at, void *subject)
{
	(void)subject;
	return asks(at, NULL);
}

static void bind(const struct nopal_binding *binding)
{
	*where = '\0';
	nopal_bind(rig_at(rig.opener.session, "lab"), binding);
}

static void says(const char *what)
{
	char expected[256];
	int64_t now_ns = nopal_world_now(rig.world);

	snprintf(expected, sizeof(expected),
		 "while `lab` handled %s at %" PRId64 ".%09" PRId64 " s (session %08" PRIx32 ")",
		 what, now_ns / NOPAL_SECOND, now_ns % NOPAL_SECOND,
		 nopal_session_local_id(rig.opener.session));
	assert_string_equal(where, expected);
}

TEST(test_outside_of_a_turn_it_is_nowhere)
{
	strcpy(where, "anything");
	assert_int_equal(nopal_whereabouts(where, sizeof(where)), 0);
	assert_string_equal(where, "");
	nopal_batch_start(rig.world);
	assert_int_equal(nopal_whereabouts(where, sizeof(where)), 0);
	nopal_batch_stop(rig.world);
}

TEST(test_a_handler_is_named_with_event_and_time)
{
	static const struct nopal_binding lost = NOPAL_ON(SEGMENT_LOST, asks);

	bind(&lost);
	nopal_batch_start(rig.world);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	says("SEGMENT_LOST");
	assert_int_equal(nopal_whereabouts(where, sizeof(where)), 0);
	nopal_batch_stop(rig.world);
}

TEST(test_after_a_nested_raise_the_outer_handler_is_named)
{
	static const struct nopal_binding outer = NOPAL_ON(SEGMENT_TIMEOUT, raises_and_asks);

	bind(&outer);
	nopal_batch_start(rig.world);
	nopal_raise_SEGMENT_TIMEOUT(rig.opener.session, segment);
	nopal_batch_stop(rig.world);
	assert_string_equal(seen, "(ab)abab");
	says("SEGMENT_TIMEOUT");
}

TEST(test_an_event_of_its_own_is_named)
{
	struct nopal_at at = rig_at(rig.opener.session, "lab");
	int event = nopal_event_create(rig.opener.session, "MOON_ROSE");

	nopal_bind_custom(at, event, asks_of_custom, NULL);
	nopal_batch_start(rig.world);
	nopal_raise_custom(rig.opener.session, event, NULL);
	nopal_batch_stop(rig.world);
	says("MOON_ROSE");
}

static enum nopal_verdict asks_with_little_room(struct nopal_at at, struct nopal_segment *subject)
{
	(void)at;
	(void)subject;
	assert_int_equal(nopal_whereabouts(where, 0), 0);
	assert_int_equal(nopal_whereabouts(where, 8), 7);
	return NOPAL_CONTINUE;
}

TEST(test_the_text_is_cut_at_its_room)
{
	static const struct nopal_binding lost = NOPAL_ON(SEGMENT_LOST, asks_with_little_room);

	bind(&lost);
	nopal_batch_start(rig.world);
	nopal_raise_SEGMENT_LOST(rig.opener.session, segment);
	nopal_batch_stop(rig.world);
	assert_string_equal(where, "while `");
}
