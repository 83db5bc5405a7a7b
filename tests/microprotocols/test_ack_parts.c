/* SPDX-License-Identifier: MIT */
/* test_ack_parts -- acks of which one cannot tell all that arrived. */
#include "support/segments.h"

#include "../../microprotocols/status/positive_ack.h"
#include "support/test.h"

static const char SHORT[] =
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\na_tap {}\n"
	"positive_ack { selective = on } retransmission_timer {}\nretransmit {}\n";
/* An ack of 576 bytes tells of 4200 numbers; a round trip has 4300. */
static const char LONG[] =
	"send_buffer = 64MiB\ntransport_driver {}\nresize { mtu = 576B }\n"
	"virtual_circuit {}\nsequenced_segments {}\n"
	"positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"
	"rtt_estimation {}\nretransmit {}\nwindowed_flow { buffer = 64MiB }\n"
	"windowed_cc {}\nrate_cc {}\nbbr_congestion { initial = 64seg }\n"
	"usual_rtt {} loss_compensation {} ack_train {} standing_queue {}\n"
	"ack_aggregation {} queue_drain {} marked_drain {}\n"
	"reliable_fifo {}\n";

/* Of numbers 2 to 9 that are away: what a part says, and what is none. */
TEST(test_a_part_of_a_report)
{
	static const struct {
		uint64_t from;
		uint8_t bitmap[2];
		size_t bytes;
		uint32_t received;
	} parts[] = {
		{ 2, { 1 }, 1, 0 },    /* the floor has not arrived */
		{ 6, { 0 }, 0, 0 },    /* says nothing */
		{ 6, { 1, 0 }, 2, 0 }, /* not canonical */
		{ 9, { 2 }, 1, 0 },    /* 10 was not sent */
		{ 11, { 1 }, 1, 0 },   /* nor was this */
		{ 6, { 5 }, 1, 2 },    /* 6 and 8 */
		{ 6, { 7 }, 1, 1 },    /* 7, too */
		{ 4, { 1, 0 }, 1, 1 }, /* 4 */
	};
	uint8_t bytes[512];
	uint32_t received;
	struct rig rig;

	rig_open_spoken(&rig, SHORT, "delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	for (int i = 0; i < 8; i++)
		assert_int_equal(rig_send(&rig, "x"), 0);
	received = rig_count(&rig.opener, NOPAL_SEGMENT_RECEIVED);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct ack_report report = {
			.largest = 8, .cumulative = 2, .part = true, .from = parts[i].from
		};
		struct nopal_writer writer = { bytes, bytes, bytes + 512, false };

		ack_report_write(&writer, &report);
		nopal_write_bytes(&writer, parts[i].bitmap, parts[i].bytes);
		arrive_control(rig.opener.session, "positive_ack", POSITIVE_ACK_ACK, bytes,
			       (size_t)(writer.at - bytes));
		received += parts[i].received;
		assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RECEIVED), received);
	}
	rig_close(&rig);
}

/* A path so long that an ack cannot tell of all that is out: nothing that arrived is taken for lost
 * or timed out, and the path stays full. */
TEST(test_a_report_that_does_not_fit_is_told_in_parts)
{
	enum { SECONDS = 10, RATE = 100000000 / 8, SIZE = 4096 };
	struct rig rig;
	const struct nopal_counters *sent;

	rig_open_spoken(&rig, LONG, "rate 100mbit delay 100ms limit 3000 loss 1%");
	for (int i = 0; i < SECONDS * 1000; i++) {
		while (rig_send_bytes(&rig, SIZE) == 0)
			continue;
		rig_run(&rig, NOPAL_MILLISECOND);
	}
	sent = nopal_session_counters(rig.opener.session);
	print_message("%d bytes, %d lost, %d resends\n", (int)rig.acceptor.delivered_bytes,
		      (int)sent->segments_lost, (int)sent->resends);
	assert_true(sent->segments_timeout < sent->segments_lost / 10);
	assert_true(sent->resends < sent->segments_lost + sent->segments_lost / 10);
	assert_true(rig.acceptor.delivered_bytes > SECONDS * RATE / 2);
	rig_close(&rig);
}
