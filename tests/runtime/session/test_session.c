/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "engine/composite.h"
#include "support/rig.h"
#include "support/test.h"

static const char MINIMAL[] = "transport_driver {}\nfixed_size {}\na_tap {}\n";

TEST(test_message_crosses)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig_send(&rig, "hello"), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_string_equal(rig.acceptor.text[0], "hello");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	rig_close(&rig);
}

TEST(test_events_come_in_the_order_of_the_figure)
{
	static const enum nopal_event down[] = {
		NOPAL_OPEN_SESSION,  NOPAL_SESSION_OPENED,    NOPAL_TURN_END,
		NOPAL_MSG_FROM_USER, NOPAL_SEGMENT_FROM_USER, NOPAL_SEGMENT_TO_NET,
		NOPAL_SEND_SEGMENT,  NOPAL_SEGMENT_DONE,      NOPAL_MSG_DONE,
		NOPAL_TURN_END,
	};
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	rig_send(&rig, "x");
	assert_true(rig.opener.events >= sizeof(down) / sizeof(down[0]));
	for (size_t i = 0; i < sizeof(down) / sizeof(down[0]); i++)
		assert_string_equal(nopal_event_name(rig.opener.event[i].event),
				    nopal_event_name(down[i]));
	rig_close(&rig);
}

/* Its parts are ready before they see the segment that it was made for. */
TEST(test_a_session_of_a_datagram_opens_before_its_segment_is_handled)
{
	static const enum nopal_event up[] = {
		NOPAL_OPEN_SESSION,	NOPAL_SESSION_OPENED, NOPAL_SEGMENT_FROM_NET,
		NOPAL_SEGMENT_VERIFIED, NOPAL_MSG_FROM_NET,   NOPAL_MSG_TO_USER,
	};
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	assert_int_equal(rig.acceptor.events, 0);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_true(rig.acceptor.events >= sizeof(up) / sizeof(up[0]));
	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++)
		assert_string_equal(nopal_event_name(rig.acceptor.event[i].event),
				    nopal_event_name(up[i]));
	rig_close(&rig);
}

TEST(test_nothing_is_held_after_it_left)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	for (int i = 0; i < 200; i++)
		assert_int_equal(rig_send(&rig, "x"), 0);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	assert_int_equal(rig_awake(rig.opener.session)->messages.alive, 0);
	assert_int_equal(nopal__composite(rig.opener.session)->awake->unfinished, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 200);
	rig_close(&rig);
}

TEST(test_too_long_is_refused_and_nothing_queued)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	assert_int_equal(rig_send_bytes(&rig, nopal_plan_info(rig.plan)->message_limit + 1),
			 -EMSGSIZE);
	assert_int_equal(rig_send_bytes(&rig, nopal_plan_info(rig.plan)->message_limit), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	rig_close(&rig);
}

TEST(test_close_is_the_last_thing)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	nopal_session_close(rig.opener.session);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.opener.event[rig.opener.events - 1].event, NOPAL_SESSION_CLOSED);
	rig_close(&rig);
}

TEST(test_abort_reaches_the_peer)
{
	struct rig rig;

	rig_open(&rig, MINIMAL, NULL);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	nopal_session_abort(rig.opener.session, "test");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ABORTED);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_ABORTED);
	rig_close(&rig);
}
