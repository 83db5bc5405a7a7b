/* SPDX-License-Identifier: MIT */
/* test_tail_probe -- the end of a train is mended in about two round trips, with one probe, and
 * none where acks come. */
#include <stdio.h>

#include "support/segments.h"
#include "support/test.h"

#define OTHERS                                                                                        \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                                 \
	"positive_ack { selective = on } retransmission_timer {}\nrtt_estimation {}\nretransmit {}\n" \
	"a_tap {}\n"
static const char RACK[] = OTHERS "rack_detection {}\ntail_probe {}\n";
static const char DUPLICATES[] = OTHERS "duplicate_ack {}\ntail_probe {}\n";

enum { RTT_MS = 20, FIRST = 40 };

/* A round trip is known, of bursts: no ack was delayed. */
static void open_measured(struct rig *rig, const char *config)
{
	rig_open(rig, config, &(struct rig_options){ .link = "delay 10ms" });
	for (int i = 0; i < FIRST; i += 4) {
		for (int j = 0; j < 4; j++)
			rig_send(rig, "x");
		rig_run(rig, 100 * NOPAL_MILLISECOND);
	}
	assert_int_equal(rig->acceptor.delivered, FIRST);
	assert_int_equal(rig_count(&rig->opener, NOPAL_SEGMENT_RESEND), 0);
}

static void train(struct rig *rig, const char *words, int count)
{
	rig_change(rig, words);
	for (int i = 0; i < count; i++)
		rig_send(rig, "x");
}

/* A train of eight, of which the mask is lost, is there within so many ms. */
static void mend(const char *config, const char *mask, int64_t within_ms, uint32_t marks)
{
	char words[64];
	struct rig rig;

	open_measured(&rig, config);
	snprintf(words, sizeof(words), "delay 10ms loss mask %s", mask);
	train(&rig, words, 8);
	rig_run(&rig, within_ms * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, FIRST + 8);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], FIRST + 8);
	assert_int_equal(rig_count(&rig.opener, NOPAL_CONGESTION_MARKED), marks);
	rig_close(&rig);
}

TEST(test_the_tail_is_mended_without_a_timeout)
{
	/* The others are acknowledged after a round trip; two later, and the delay of a single one,
	 * the probe leaves. */
	mend(RACK, "0x80", 3 * RTT_MS + 25 + 10 + 2, 1);
	/* more: the probe arrives, and its ack tells of the others */
	mend(RACK, "0xc0", 4 * RTT_MS + 10 + 5 + 2, 1);
	mend(RACK, "0xf0", 4 * RTT_MS + 10 + 5 + 2, 1);
	mend(DUPLICATES, "0x80", 3 * RTT_MS + 25 + 10 + 2, 1);
}

TEST(test_a_whole_train_is_mended_without_a_timeout)
{
	mend(RACK, "0xff", 3 * RTT_MS + 10 + 5 + 2, 1);
}

TEST(test_one_probe_and_then_the_timeout)
{
	struct rig rig;

	open_measured(&rig, RACK);
	train(&rig, "loss 100%", 8);
	rig_run(&rig, 199 * NOPAL_MILLISECOND); /* rtt_estimation's least */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	rig_run(&rig, 10 * NOPAL_MILLISECOND); /* the eighth left later */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 7);
	rig_close(&rig);
}

/* Acks that are delayed, or come late by less than a round trip. */
TEST(test_where_acks_come_nothing_is_probed)
{
	struct rig rig;

	open_measured(&rig, RACK);
	for (int i = 0; i < 500; i++) {
		for (int j = 0; j < i % 4; j++)
			rig_send(&rig, "x");
		rig_run(&rig, (1 + i % 70) * NOPAL_MILLISECOND);
	}
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 0);
	assert_int_equal(rig_count(&rig.opener, NOPAL_CONGESTION_MARKED), 0);
	rig_close(&rig);
}

/* A segment that was probed for nothing had arrived: that is no mark. */
TEST(test_a_late_ack_is_no_mark)
{
	struct rig rig;

	open_measured(&rig, RACK);
	train(&rig, "delay 100ms", 4);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_CONGESTION_MARKED), 0);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_LOST), 0);
	assert_int_equal(rig.acceptor.delivered, FIRST + 4);
	rig_close(&rig);
}

/* A window that is full of what was lost lets the probe go. */
TEST(test_a_full_window_is_no_obstacle)
{
	struct rig rig;

	open_measured(&rig, OTHERS "rack_detection {}\ntail_probe {}\n"
				   "windowed_cc {}\ntcp_congestion {}\n");
	rig_change(&rig, "loss 100%");
	for (int i = 0; i < 200; i++)
		rig_send_bytes(&rig, 1400);
	rig_run(&rig, 2 * RTT_MS * NOPAL_MILLISECOND - 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RESEND), 0);
	rig_change(&rig, "delay 10ms");
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	assert_int_equal(rig.acceptor.delivered, FIRST + 200);
	rig_close(&rig);
}

TEST(test_many_trains_under_loss)
{
	struct rig rig;
	uint32_t timeouts;

	open_measured(&rig, RACK);
	rig_change_both(&rig, "delay 10ms loss 10%");
	for (int i = 0; i < 300; i++) {
		for (int j = 0; j < 5; j++)
			rig_send(&rig, "x");
		rig_run(&rig, 200 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, FIRST + 1500);
	timeouts = rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT);
	assert_true(timeouts < 60);
	rig_close(&rig);
}
