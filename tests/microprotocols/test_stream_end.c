/* SPDX-License-Identifier: MIT */
/* How a stream ends: each direction by itself, and at once where it breaks. */
#include "support/rig.h"
#include "support/test.h"

static const char STREAMED[] =
	"layer \"stream\" { multiplicity = per_stream\n"
	" transport_driver {} stream_end {} resize {} sequenced_messages {}\n"
	" reliable_fifo {} a_tap {}\n}\n"
	"layer \"flow\" {\n"
	" transport_driver {} virtual_circuit {} fixed_size {}\n"
	" sequenced_segments {} positive_ack { selective = on } retransmission_timer {}\n"
	" duplicate_ack {} rtt_estimation { timeout_min = 20ms }\n"
	" retransmit {} checksum {}\n}\n";

static struct rig rig;

/* A stream that has said something, at both ends. */
static void open_rig(const char *link)
{
	rig_open(&rig, STREAMED, &(struct rig_options){ .link = link });
	assert_int_equal(rig_send(&rig, "hello"), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_non_null(rig.acceptor.session);
}

TEST(test_it_opens_at_once)
{
	rig_open(&rig, STREAMED, &(struct rig_options){ .link = "delay 10ms" });
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig.acceptor.opened, 0); /* nobody has heard of it */
	rig_close(&rig);
}

/* The end comes behind all that was sent, whatever gets lost. */
TEST(test_it_ends_behind_everything)
{
	open_rig("delay 10ms loss 20%");
	for (int i = 0; i < 50; i++)
		assert_int_equal(rig_send(&rig, "more"), 0);
	nopal_session_close(rig.opener.session);
	for (int i = 0; i < 1000 && !rig.acceptor.peer_closed && !rig.acceptor.ended; i++)
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 51);
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 51);
	rig_close(&rig);
}

TEST(test_it_breaks_at_both_ends)
{
	open_rig("delay 10ms");
	nopal_session_abort(rig.opener.session, "enough");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.end, NOPAL_ABORTED);
	assert_string_equal(rig.acceptor.end_text, "the peer aborted: enough");
	rig_close(&rig);
}

TEST(test_the_peer_may_break_it_too)
{
	open_rig("delay 10ms");
	nopal_session_abort(rig.acceptor.session, "enough");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_ABORTED);
	assert_string_equal(rig.opener.end_text, "the peer aborted: enough");
	rig_close(&rig);
}

/* The closed session waits for the other direction's end, which does not come. */
TEST(test_who_said_its_end_learns_of_a_break)
{
	open_rig("delay 10ms");
	rig_change_both(&rig, "fwd: delay 10ms rev: loss 100%");
	assert_int_equal(nopal_send(rig.acceptor.session, "x", 1, 0), 0);
	nopal_session_close(rig.opener.session);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.peer_closed, 1);
	assert_int_equal(rig.opener.ended, 0);
	nopal_session_abort(rig.acceptor.session, "enough");
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ABORTED);
	rig_close(&rig);
}
