/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "stubs.h"
#include "support/test.h"

ALL_TESTS(tests, stubs_register, NULL);

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\nstub_ack "                     \
	"{}\n"

#define COPIES BASE "retransmit {}\nresend_copies { copies = 2 }\nstub_room {}\n"

static struct rig rig;

static const struct nopal_counters *counters(void)
{
	return nopal_session_counters(rig.opener.session);
}

/* Each resend leaves with two copies; a segment that was not lost has none. */
TEST(test_copies_leave_where_there_is_room)
{
	struct nopal_segment *segment = stub_one_sent(&rig, COPIES);

	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 1);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	assert_int_equal(segment->transmissions, 2);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 4);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 7);
	rig_close(&rig);
}

TEST(test_no_copy_takes_the_room_of_others)
{
	struct nopal_segment *segment = stub_one_sent(&rig, COPIES);
	struct nopal_session *session = rig.opener.session;

	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	nopal_shared_set(rig_at(session, "stub_room"), 0, 0);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 2);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	nopal_shared_set(rig_at(session, "stub_room"), 0, 1);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 3);
	rig_close(&rig);
}

/* Nor does a segment leave again that arrived in the meantime, or one that waits for a gate. */
TEST(test_no_copy_of_a_segment_that_arrived_or_waits)
{
	struct nopal_segment *segment = stub_one_sent(&rig, COPIES);

	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	segment->outcome = NOPAL_OUTCOME_DELIVERED;
	STUB_RAISE(&rig, SEGMENT_RECEIVED, segment);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(counters()->resends, 1);
	assert_int_equal(counters()->refused_sends, 0);
	rig_close(&rig);
	segment = stub_one_sent(&rig, COPIES "stub_gate {}\n");
	stub_open_gate(&rig, segment);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	stub_open_gate(&rig, segment);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 2);
	rig_close(&rig);
}

/* Lost again before its copy was due, it waits for the gate with both copies. */
TEST(test_a_segment_that_waits_keeps_its_copies)
{
	struct nopal_segment *segment = stub_one_sent(&rig, COPIES "stub_gate {}\n");

	stub_open_gate(&rig, segment);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	stub_open_gate(&rig, segment);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	for (uint32_t transmissions = 2; transmissions <= 5; transmissions++) {
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
		assert_int_equal(segment->transmissions, transmissions);
		assert_int_equal(segment->wanted, transmissions < 5);
		stub_open_gate(&rig, segment);
	}
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 5);
	rig_close(&rig);
}

/* Without the part that says whether anything else waits, no copy could ever leave. */
TEST(test_without_word_of_the_room_it_is_refused)
{
	char text[4096];

	assert_true(rig_refused(BASE "retransmit {}\nresend_copies {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "needs window_mechanism"));
	assert_true(rig_refused(BASE "resend_copies {}\nstub_room {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "add retransmit {}"));
}
