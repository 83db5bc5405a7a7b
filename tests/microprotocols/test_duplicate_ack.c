/* SPDX-License-Identifier: MIT */
#include "losses.h"
#include "stubs.h"
#include "support/test.h"

ALL_TESTS(tests, stubs_register, NULL);

#define OTHERS                                                                                     \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"retransmit {}\nduplicate_ack {}\na_tap {}\n"
static const char CUMULATIVE[] = OTHERS "positive_ack {} retransmission_timer {}\n";
static const char SELECTIVE[] = OTHERS "positive_ack { selective = on } retransmission_timer {}\n";
static const char UNRELIABLE[] =
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
	"duplicate_ack {}\npositive_ack { selective = on } retransmission_timer {}\na_tap {}\n";

static void lose(struct rig *rig, const char *config, const char *mask, unsigned count)
{
	lose_after(1, rig, config, mask, count);
	rig_run(rig, 100 * NOPAL_MILLISECOND);
}

TEST(test_losses_are_found_and_mended_without_a_timeout)
{
	check_recoveries(1, CUMULATIVE, SELECTIVE);
}

/* One at a time is all that a cumulative ack can tell; each resend moves the floor to the next. */
TEST(test_a_cumulative_floor_mends_one_a_round_trip)
{
	struct rig rig;

	lose(&rig, CUMULATIVE, "0x15", 20);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 3);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	assert_int_equal(rig.acceptor.delivered, 21);
	rig_close(&rig);
}

TEST(test_less_than_the_threshold_is_no_loss)
{
	struct rig rig;

	lose(&rig, SELECTIVE, "0x20", 8); /* two come after the sixth */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	rig_close(&rig);
	lose(&rig, SELECTIVE, "0x10", 8); /* three after the fifth */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1);
	rig_close(&rig);
}

TEST(test_disorder_within_the_threshold_is_no_loss)
{
	struct rig rig;

	rig_open(&rig, SELECTIVE, &(struct rig_options){ .link = "delay 10ms" });
	for (int i = 0; i < 50; i++) {
		rig_send(&rig, "x");
		rig_change(&rig, i % 3 ? "delay 10ms" : "delay 12ms");
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	assert_int_equal(rig.acceptor.delivered, 50);
	rig_close(&rig);
}

TEST(test_where_nobody_resends_a_loss_is_missing)
{
	check_missing(1, UNRELIABLE);
}

/* An ack of nothing, a stale floor segment, a largest below the threshold, more said to have
 * arrived than was told to have. */
TEST(test_strange_acks_find_nothing)
{
	struct nopal_ack ack = { .largest = 2, .selective = true };
	struct rig rig;

	lose_ten(&rig, CUMULATIVE);
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	ack = (struct nopal_ack){ .largest = 9 };
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	ack.cumulative_segment = (struct nopal_handle){ 12345, 77 };
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	ack = (struct nopal_ack){ .largest = 9, .selective = true };
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	rig_close(&rig);
}

/* Packets 7, 8 and 9 arrived: all before are lost, once each. */
TEST(test_each_loss_is_raised_once)
{
	struct nopal_ack ack = { .largest = 9, .selective = true };
	struct nopal_segment *segment;
	struct rig rig;

	lose_ten(&rig, SELECTIVE);
	nopal_raise_ACK_FROM_NET(rig.opener.session, &ack);
	for (uint64_t number = 7; number < 10; number++) {
		segment = nopal_segment_find(
			rig.opener.session,
			nopal_transmission_find(rig.opener.session, number)->segment);
		nopal_segment_settle(rig.opener.session, segment);
		nopal_raise_SEGMENT_RECEIVED(rig.opener.session, segment);
	}
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 7);
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 7);
	rig_close(&rig);
}

static void burst(struct rig *rig, const char *words)
{
	rig_change(rig, words);
	for (int i = 0; i < 20; i++)
		rig_send(rig, "x");
	rig_run(rig, 21 * NOPAL_MILLISECOND);
	rig_change(rig, "delay 10ms");
}

/* The last but one of a train: a single arrival has overtaken it, and no more are to come.  It is
 * lost a round trip and a quarter after it left, not before. */
TEST(test_the_end_of_a_train_needs_no_timeout)
{
	static const char config[] =
		OTHERS "positive_ack { selective = on } retransmission_timer {}\n"
		       "rtt_estimation {}\nstub_room {}\n";
	struct rig rig;

	rig_open(&rig, config, &(struct rig_options){ .link = "delay 10ms" });
	burst(&rig, "delay 10ms");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	burst(&rig, "delay 10ms loss mask 0x40000");
	rig_run(&rig, 2 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	assert_int_equal(rig.acceptor.delivered, 40);
	rig_close(&rig);
}

/* Where more waits to leave, more will overtake it: nothing is hurried. */
TEST(test_few_overtakers_wait_for_more)
{
	static const char config[] =
		OTHERS "positive_ack { selective = on } retransmission_timer {}\n"
		       "rtt_estimation {}\nstub_room {}\n";
	struct nopal_session *session;
	struct rig rig;

	rig_open(&rig, config, &(struct rig_options){ .link = "delay 10ms" });
	session = rig.opener.session;
	burst(&rig, "delay 10ms");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	nopal_shared_set(rig_at(session, "stub_room"), 0, 0);
	burst(&rig, "delay 10ms loss mask 0x40000");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	rig_close(&rig);
}

/* A resend leaves with copies.  An ack of the first of three tells that it arrived and not that the
 * path reorders: the next loss is found as soon. */
TEST(test_copies_are_no_reordering)
{
	static const char config[] =
		"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		"retransmit {}\nresend_copies {}\nduplicate_ack {}\na_tap {}\n"
		"positive_ack { selective = on } retransmission_timer {}\nrtt_estimation {}\n"
		"stub_room {}\n";
	struct rig rig;

	rig_open(&rig, config, &(struct rig_options){ .link = "delay 10ms" });
	burst(&rig, "delay 10ms");
	burst(&rig, "delay 10ms loss mask 0x10");
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 3);
	burst(&rig, "delay 10ms loss mask 0x10");
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 2);
	rig_close(&rig);
}

/* One datagram that jumps ahead of a whole round trip makes none of them lost, and where the path
 * reorders further, few resends are for nothing. */
TEST(test_a_path_that_reorders_is_learned)
{
	static const char config[] =
		OTHERS "positive_ack { selective = on } retransmission_timer {}\n"
		       "rtt_estimation {}\n";
	struct rig rig;

	rig_open(&rig, config, &(struct rig_options){ .link = "delay 20ms 4ms" });
	for (int i = 0; i < 2000; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_MILLISECOND / 4);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2000);
	assert_in_range(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1, 400);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	rig_close(&rig);
}

/* One in ten jumps the whole delay, acks too: all others are late by as much, and by thousands of
 * overtakers.  After the first round trips few are resent. */
TEST(test_far_overtakers_are_learned_at_once)
{
	static const char config[] =
		OTHERS "positive_ack { selective = on } retransmission_timer {}\n"
		       "rtt_estimation {}\n";
	struct rig rig;
	uint32_t first;

	rig_open(&rig, config, &(struct rig_options){ .link = "delay 20ms reorder 10%" });
	for (int i = 0; i < 400; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_MILLISECOND / 4);
	}
	first = rig_count(&rig.opener, NOPAL_SEGMENT_LOST);
	assert_true(first > 0);
	for (int i = 0; i < 2000; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_MILLISECOND / 4);
	}
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2400);
	assert_in_range(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), first, first + 200);
	rig_close(&rig);
}

/* A path that stopped to reorder, 64 round trips ago: losses are found as soon as they are on a
 * path that never did. */
TEST(test_what_was_learned_is_forgotten)
{
	static const char config[] =
		OTHERS "positive_ack { selective = on } retransmission_timer {}\n"
		       "rtt_estimation {}\n";
	struct rig rig;
	uint32_t lost;

	rig_open(&rig, config, &(struct rig_options){ .link = "delay 10ms reorder 10%" });
	for (int i = 0; i < 400; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_MILLISECOND / 4);
	}
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, NOPAL_SECOND);
	lost = rig_count(&rig.opener, NOPAL_SEGMENT_LOST);
	burst(&rig, "delay 10ms loss mask 0x10");
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), lost);
	for (int i = 0; i < 300; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, 25 * NOPAL_MILLISECOND);
	}
	lost = rig_count(&rig.opener, NOPAL_SEGMENT_LOST);
	burst(&rig, "delay 10ms loss mask 0x10");
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), lost + 1);
	rig_close(&rig);
}
