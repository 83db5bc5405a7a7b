/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "stubs.h"
#include "support/test.h"

ALL_TESTS(tests, stubs_register, NULL);

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\nstub_ack "                     \
	"{}\n"

#define FIRST                                                                                      \
	BASE "retransmit {}\nrepair_first {}\n"                                                    \
	     "forward_error_correction {}\n"

static struct rig rig;

static const struct nopal_counters *counters(void)
{
	return nopal_session_counters(rig.opener.session);
}

/* Which parity repairs a block is unknown until the block is closed. */
TEST(test_a_loss_that_may_be_repaired_is_not_resent)
{
	struct nopal_segment *segment = stub_one_sent(&rig, FIRST);

	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 1);
	rig_run(&rig, 20 * NOPAL_MILLISECOND); /* now it is, and parity away */
	assert_int_equal(segment->transmissions, 2);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	assert_int_equal(segment->transmissions, 3);
	rig_close(&rig);
}

TEST(test_a_timeout_waits_likewise)
{
	struct nopal_segment *segment = stub_one_sent(&rig, FIRST);

	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 1);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 2);
	rig_close(&rig);
}

TEST(test_an_urgent_segment_does_not_wait)
{
	struct nopal_segment *segment = stub_one_sent(&rig, FIRST);

	segment->urgent = true;
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	assert_int_equal(segment->transmissions, 2);
	rig_close(&rig);
}

/* All segments above the floor may be there. */
TEST(test_behind_a_floor_alone_nothing_waits)
{
	struct nopal_segment *segment = stub_one_sent(&rig, FIRST);
	struct nopal_ack ack = { .selective = true };

	STUB_RAISE(&rig, ACK_PROCESSED, &ack);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	assert_int_equal(segment->transmissions, 1);
	ack.selective = false;
	STUB_RAISE(&rig, ACK_PROCESSED, &ack);
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(segment->transmissions, 2);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	assert_int_equal(segment->transmissions, 3);
	rig_close(&rig);
}

TEST(test_a_repaired_segment_is_never_resent)
{
	struct nopal_segment *segment = stub_one_sent(&rig, FIRST);

	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	segment->outcome = NOPAL_OUTCOME_DELIVERED;
	STUB_RAISE(&rig, SEGMENT_RECEIVED, segment);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(counters()->resends, 0);
	assert_int_equal(counters()->refused_sends, 0);
	rig_close(&rig);
}

/* The parity of the block never leaves, for the gate keeps the second segment of two. */
TEST(test_no_segment_waits_for_longer_than_three_seconds)
{
	struct nopal_segment *segment = stub_one_sent(&rig, FIRST "stub_gate {}\n");

	stub_open_gate(&rig, segment);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	assert_false(segment->wanted);
	rig_run(&rig, 4 * NOPAL_SECOND);
	assert_true(segment->wanted);
	rig_close(&rig);
}

TEST(test_without_redundancy_it_is_refused)
{
	char text[4096];

	assert_true(rig_refused(BASE "retransmit {}\nrepair_first {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "needs redundancy"));
	assert_true(rig_refused(BASE "repair_first {}\nforward_error_correction {}\n", text,
				sizeof(text)));
	assert_non_null(strstr(text, "add retransmit {}"));
}
