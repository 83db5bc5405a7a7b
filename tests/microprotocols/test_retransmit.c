/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "stubs.h"
#include "support/test.h"

ALL_TESTS(tests, stubs_register, NULL);

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\nstub_ack "                     \
	"{}\n"

static struct rig rig;

static const struct nopal_counters *counters(void)
{
	return nopal_session_counters(rig.opener.session);
}

TEST(test_it_leaves_and_is_kept)
{
	struct nopal_segment *segment = stub_one_sent(&rig, BASE "retransmit {}\n");

	assert_int_equal(segment->transmissions, 1);
	assert_false(segment->done);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 0);
	rig_close(&rig);
}

TEST(test_lost_and_timed_out_leave_again)
{
	struct nopal_segment *segment = stub_one_sent(&rig, BASE "retransmit {}\n");
	uint64_t first = segment->packet_number;

	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	assert_int_equal(segment->transmissions, 2);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	assert_int_equal(segment->transmissions, 3);
	assert_int_equal(segment->packet_number, first + 2);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1); /* a resend is no new segment */
	assert_int_equal(counters()->resends, 2);
	rig_close(&rig);
}

TEST(test_received_lets_it_go)
{
	struct nopal_segment *segment = stub_one_sent(&rig, BASE "retransmit {}\n");

	segment->outcome = NOPAL_OUTCOME_DELIVERED;
	STUB_RAISE(&rig, SEGMENT_RECEIVED, segment);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	rig_close(&rig);
}

TEST(test_it_gives_up_after_attempts)
{
	struct nopal_segment *segment = stub_one_sent(&rig, BASE "retransmit { attempts = 3 }\n");

	for (int i = 0; i < 9; i++)
		STUB_RAISE(&rig, SEGMENT_LOST, segment);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	assert_int_equal(segment->transmissions, 12);
	assert_int_equal(rig.opener.ended, 0);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_GAVE_UP);
	rig_close(&rig);
}

/* An ack that moves a floor and says nothing of what lies above it shows that the peer lives; one
 * that reports all, and not this segment, does not. */
TEST(test_a_floor_that_moves_is_no_silence)
{
	struct nopal_segment *segment = stub_one_sent(&rig, BASE "retransmit { attempts = 3 }\n");
	struct nopal_ack floor = { .newly_acked_segments = 1 };
	struct nopal_ack same = { .newly_acked_segments = 0 };
	struct nopal_ack all = { .newly_acked_segments = 1, .selective = true };

	for (int i = 0; i < 5; i++) {
		STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
		STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
		STUB_RAISE(&rig, ACK_PROCESSED, &floor);
	}
	assert_int_equal(segment->transmissions, 11);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	STUB_RAISE(&rig, ACK_PROCESSED, &same);
	STUB_RAISE(&rig, ACK_PROCESSED, &all);
	assert_int_equal(rig.opener.ended, 0);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	assert_int_equal(rig.opener.end, NOPAL_GAVE_UP);
	rig_close(&rig);
}

/* A segment that is reported lost while it waits for a gate is asked for once. */
TEST(test_a_gate_sees_each_resend)
{
	struct nopal_segment *segment =
		stub_one_sent(&rig, BASE "retransmit {}\nstub_gate {}\na_tap {}\n");

	assert_int_equal(segment->transmissions, 0);
	stub_open_gate(&rig, segment);
	assert_int_equal(segment->transmissions, 1);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 1);
	stub_open_gate(&rig, segment);
	assert_int_equal(segment->transmissions, 2);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	stub_open_gate(&rig, segment);
	assert_int_equal(segment->transmissions, 3);
	rig_close(&rig);
}

/* Redundancy keeps a segment beyond its end: it does not leave again. */
TEST(test_no_send_after_done)
{
	struct nopal_segment *segment =
		stub_one_sent(&rig, BASE "retransmit {}\nforward_error_correction {}\n");

	STUB_RAISE(&rig, SEGMENT_RECEIVED, segment);
	assert_true(segment->done);
	STUB_RAISE(&rig, SEGMENT_LOST, segment);
	assert_int_equal(segment->transmissions, 1);
	assert_int_equal(counters()->refused_sends, 1);
	rig_close(&rig);
}

/* Keys of earlier versions: the message names the microprotocol that has each of them now. */
TEST(test_moved_keys_are_refused_and_named)
{
	char text[4096];

	assert_true(rig_refused(BASE "retransmit { copies = 2 }\n", text, sizeof(text)));
	assert_non_null(strstr(text, "resend_copies { copies = N }"));
	assert_true(rig_refused(BASE "retransmit { arq = unrepaired }\n", text, sizeof(text)));
	assert_non_null(strstr(text, "repair_first {}"));
}

TEST(test_what_is_unseen_is_needed)
{
	rig_open(&rig, BASE "retransmit {}\n", NULL);
	assert_int_equal(rig_shared(rig.opener.session, "reliability_unmet"), 1);
	rig_close(&rig);
}

TEST(test_relations)
{
	char text[4096];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\nretransmit {}\n", text,
				sizeof(text)));
	assert_non_null(strstr(text, "acknowledgement"));
	assert_non_null(strstr(text, "segment_numbers"));
	assert_true(rig_refused(BASE "retransmit {}\nlossy_fifo {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "skip"));
}

/* With real acknowledgements: all arrives, and nothing is kept. */
TEST(test_across_a_link_that_loses)
{
	const struct rig_options options = {
		.link = "delay 20ms 5ms loss 20% duplicate 5%",
		.seed = 2,
	};

	rig_open(&rig,
		 "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		 "rtt_estimation {}\npositive_ack {} retransmission_timer {}\nduplicate_ack {}\n"
		 "retransmit {}\ncheck_holds {}\n",
		 &options);
	for (int i = 0; i < 500; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 0);
	assert_int_equal(rig.acceptor.delivered, 500);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 500);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_close(&rig);
}
