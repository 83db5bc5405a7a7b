/* SPDX-License-Identifier: MIT */
/* test_rack_detection -- losses are found by time: early where few overtake, and never for long
 * where the path reorders. */
#include <string.h>

#include "losses.h"
#include "support/test.h"

enum { MEASURED = 4 }; /* messages before any is lost */

#define OTHERS                                                                                     \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"retransmit {}\nrack_detection {}\nrtt_estimation {}\na_tap {}\n"
static const char CUMULATIVE[] = OTHERS "positive_ack {} retransmission_timer {}\n";
static const char SELECTIVE[] = OTHERS "positive_ack { selective = on } retransmission_timer {}\n";
static const char UNRELIABLE[] =
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
	"rack_detection {}\nrtt_estimation {}\n"
	"positive_ack { selective = on } retransmission_timer {}\na_tap {}\n";

static void lose(struct rig *rig, const char *config, const char *mask, unsigned count)
{
	lose_after(MEASURED, rig, config, mask, count);
}

TEST(test_losses_are_found_and_mended_without_a_timeout)
{
	check_recoveries(MEASURED, CUMULATIVE, SELECTIVE);
}

/* One arrival is enough, a quarter of a round trip later: nothing waits for a third that does not
 * come. */
TEST(test_few_overtakers_and_time_are_enough)
{
	struct rig rig;

	lose(&rig, SELECTIVE, "0x1", 2);
	rig_run(&rig, 21 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	rig_run(&rig, 5 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1);
	rig_run(&rig, 11 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 6);
	rig_close(&rig);
}

TEST(test_three_overtakers_need_no_time)
{
	struct rig rig;

	lose(&rig, SELECTIVE, "0x1", 4);
	rig_run(&rig, 21 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1);
	rig_close(&rig);
}

/* While one loss is mended, the next that left before that needs no time either. */
TEST(test_in_recovery_one_overtaker_is_enough)
{
	struct rig rig;

	lose(&rig, SELECTIVE, "0x11", 4);
	rig_run(&rig, NOPAL_MILLISECOND);
	rig_send(&rig, "x"); /* lost */
	rig_send(&rig, "x");
	rig_run(&rig, 19500 * NOPAL_MICROSECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 1);
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 2);
	rig_close(&rig);
}

/* A resend that is lost is found as any transmission is. */
TEST(test_a_lost_resend_is_found)
{
	struct rig rig;

	lose(&rig, SELECTIVE, "0x11", 4); /* the fifth to leave is the resend */
	rig_run(&rig, 25 * NOPAL_MILLISECOND);
	for (int i = 0; i < 4; i++)
		rig_send(&rig, "x");
	rig_run(&rig, 60 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 2);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	assert_int_equal(rig.acceptor.delivered, 12);
	rig_close(&rig);
}

TEST(test_where_nobody_resends_a_loss_is_missing)
{
	check_missing(MEASURED, UNRELIABLE);
}

static void flow(struct rig *rig, int count)
{
	for (int i = 0; i < count; i++) {
		rig_send(rig, "x");
		rig_run(rig, NOPAL_MILLISECOND / 4);
	}
}

/* Losses that were found after the path was learned, of a steady flow that loses nothing. */
static uint64_t needless(const char *link)
{
	struct rig rig;
	uint64_t learning, all;

	rig_open(&rig, SELECTIVE, &(struct rig_options){ .link = link });
	flow(&rig, 2000);
	learning = nopal_session_counters(rig.opener.session)->segments_lost;
	flow(&rig, 2000);
	all = nopal_session_counters(rig.opener.session)->segments_lost;
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 4000);
	assert_int_equal(nopal_session_counters(rig.opener.session)->segments_timeout, 0);
	rig_close(&rig);
	return all - learning;
}

TEST(test_a_path_that_reorders_costs_no_resends)
{
	assert_int_equal(needless("delay 20ms 4ms"), 0);
	assert_int_equal(needless("delay 20ms 9ms"), 0);
}

/* One in ten jumps the whole delay: all others are late by a half round trip. */
TEST(test_far_overtakers_are_learned)
{
	assert_in_range(needless("delay 20ms reorder 10%"), 0, 100);
}

/* Loses the first of two; was it found a quarter of a round trip after the ack? Not before, in any
 * case. */
static bool found_soon(struct rig *rig)
{
	uint32_t before = rig_count(&rig->opener, NOPAL_SEGMENT_LOST), after;

	rig_change(rig, "delay 10ms loss mask 0x1");
	rig_send(rig, "x");
	rig_send(rig, "x");
	rig_run(rig, 24 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig->opener, NOPAL_SEGMENT_LOST), before);
	rig_run(rig, 2 * NOPAL_MILLISECOND);
	after = rig_count(&rig->opener, NOPAL_SEGMENT_LOST);
	rig_run(rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig_count(&rig->opener, NOPAL_SEGMENT_LOST), before + 1);
	return after != before;
}

/* A late segment makes it wait, until sixteen rounds with losses are over. */
TEST(test_what_was_seen_is_forgotten)
{
	struct rig rig;

	open_after(MEASURED, &rig, SELECTIVE);
	for (int i = 0; i < 5; i++)
		assert_true(found_soon(&rig));
	rig_change(&rig, "delay 14ms");
	rig_send(&rig, "x");
	rig_change(&rig, "delay 10ms");
	rig_send(&rig, "x");
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	rig_change(&rig, "delay 18ms");
	rig_send(&rig, "x");
	rig_change(&rig, "delay 10ms");
	rig_send(&rig, "x");
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	for (int i = 0; i < 15; i++)
		assert_false(found_soon(&rig));
	found_soon(&rig);
	assert_true(found_soon(&rig));
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	rig_close(&rig);
}

TEST(test_losses_on_a_path_that_reorders)
{
	struct rig rig;

	rig_open(&rig, SELECTIVE, &(struct rig_options){ .link = "delay 20ms 4ms loss 2%" });
	flow(&rig, 4000);
	rig_run(&rig, 2 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 4000);
	/* about eighty of data are lost, and some of their resends */
	assert_in_range(nopal_session_counters(rig.opener.session)->segments_lost, 50, 400);
	rig_close(&rig);
}

/* An ack of nothing, a stale floor segment, a largest that never left. */
TEST(test_strange_acks_find_nothing)
{
	struct nopal_ack ack = { .largest = 2, .selective = true };
	struct rig rig;

	lose_ten(&rig, CUMULATIVE);
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	ack.cumulative_segment = (struct nopal_handle){ 12345, 77 };
	ack.selective = false;
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	ack = (struct nopal_ack){ .largest = 9, .largest_sent_ns = -1, .selective = true };
	nopal_raise_ACK_FROM_NET(rig.opener.session, &ack);
	nopal_raise_ACK_PROCESSED(rig.opener.session, &ack);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	rig_close(&rig);
}

TEST(test_one_judge_is_enough)
{
	char text[1024];

	assert_true(rig_refused(OTHERS
				"positive_ack {} retransmission_timer {}\nduplicate_ack {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "duplicate_ack"));
}
