/* SPDX-License-Identifier: MIT */
#include "support/segments.h"

#include "../../microprotocols/status/positive_ack.h"
#include "support/test.h"

#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\na_tap "                        \
	"{}\n"
static const char CUMULATIVE[] = BASE "positive_ack {} retransmission_timer {}\nretransmit {}\n";
static const char SELECTIVE[] =
	BASE "positive_ack { selective = on } retransmission_timer {}\nretransmit {}\n";
static const char UNRELIABLE[] = BASE "positive_ack {} retransmission_timer {}\n";
static const char UNRELIABLE_SELECTIVE[] =
	BASE "positive_ack { selective = on } retransmission_timer {}\n";
static const char PIGGYBACK[] =
	BASE "positive_ack { piggyback = on } retransmission_timer {}\nretransmit {}\n";
static struct positive_ack *state_of(struct rig_side *side)
{
	return rig_state(side->session, "positive_ack");
}

static void ack(struct rig *rig, const void *bytes, size_t length)
{
	arrive_control(rig->opener.session, "positive_ack", POSITIVE_ACK_ACK, bytes, length);
}

static size_t ack_body(uint8_t *bytes, uint64_t largest, uint64_t floor, const uint8_t *bitmap,
		       size_t bitmap_bytes)
{
	const struct ack_report report = { .largest = largest, .cumulative = floor };
	struct nopal_writer writer = nopal_writer_over(bytes, 512);

	ack_report_write(&writer, &report);
	nopal_write_bytes(&writer, bitmap, bitmap_bytes);
	return nopal_written(&writer);
}

TEST(test_messages_get_their_outcome)
{
	struct rig rig;

	rig_open_spoken(&rig, CUMULATIVE, NULL);
	rig_send_many(&rig, 100);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 101);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 0);
	rig_close(&rig);
}

TEST(test_ack_is_once_a_turn_or_delayed)
{
	struct rig rig;
	uint64_t before;

	rig_open_spoken(&rig, CUMULATIVE, "delay 10ms");
	before = nopal_session_counters(rig.acceptor.session)->control_out;
	rig_send_many(&rig, 1);
	rig_run(&rig, 30 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out, before);
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out, before + 1);
	rig_send_many(&rig, 2);
	rig_run(&rig, 11 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out, before + 2);
	rig_close(&rig);
}

/* A message a millisecond; acks that came of it. */
static uint64_t acks_of_a_second(struct rig *rig)
{
	uint64_t before = nopal_session_counters(rig->acceptor.session)->control_out;

	for (int i = 0; i < 1000; i++) {
		rig_send_many(rig, 1);
		rig_run(rig, NOPAL_MILLISECOND);
	}
	rig_run(rig, 100 * NOPAL_MILLISECOND);
	return nopal_session_counters(rig->acceptor.session)->control_out - before;
}

TEST(test_acks_by_the_clock)
{
	struct rig rig;
	uint64_t quiet;

	rig_open_spoken(
		&rig,
		BASE
		"positive_ack { selective = on  every = 0  delay = 10ms } retransmission_timer {}\n"
		"duplicate_ack {}\nretransmit {}\n",
		"delay 5ms");
	assert_in_range(acks_of_a_second(&rig), 90, 101);
	assert_int_equal(rig.acceptor.delivered, 1001);
	/* holes and duplicates do not hurry it, and all arrives */
	rig_change(&rig, "delay 5ms loss 10% duplicate 10%");
	assert_in_range(acks_of_a_second(&rig), 90, 110);
	assert_int_equal(rig.acceptor.delivered, 2001);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2001);
	/* no data, no acks */
	quiet = nopal_session_counters(rig.acceptor.session)->control_out;
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out, quiet);
	rig_close(&rig);
}

TEST(test_a_clock_needs_a_period)
{
	char text[1024];

	assert_true(rig_refused(BASE
				"positive_ack { every = 0  delay = 0ms } retransmission_timer {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "delay"));
}

TEST(test_events_of_an_ack_come_in_order)
{
	static const enum nopal_event expected[] = {
		NOPAL_SEGMENT_FROM_NET, NOPAL_ACK_FROM_NET, NOPAL_SEGMENT_RECEIVED,
		NOPAL_SEGMENT_DONE,	NOPAL_MSG_DONE,	    NOPAL_SEGMENT_RECEIVED,
		NOPAL_SEGMENT_DONE,	NOPAL_MSG_DONE,	    NOPAL_ACK_PROCESSED,
		NOPAL_TURN_END,
	};
	struct rig rig;
	uint32_t at;

	rig_open_spoken(&rig, CUMULATIVE, NULL);
	rig_send_many(&rig, 2);
	at = rig.opener.events;
	rig_run(&rig, NOPAL_SECOND);
	while (rig.opener.event[at].event != expected[0])
		at++;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_string_equal(nopal_event_name(rig.opener.event[at + i].event),
				    nopal_event_name(expected[i]));
	rig_close(&rig);
}

TEST(test_hole_is_told_at_once_and_selectively)
{
	struct rig rig;

	rig_open_spoken(&rig, SELECTIVE, "delay 10ms");
	rig_change(&rig, "delay 10ms loss mask 0x2"); /* counts from now */
	rig_send_many(&rig, 4);
	rig_run(&rig, 25 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 4);
	assert_int_equal(state_of(&rig.opener)->sent.base + 3, state_of(&rig.opener)->sent.end);
	rig_run(&rig, 3 * NOPAL_SECOND); /* the timeout resends it */
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 5);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TIMEOUT), 1);
	rig_close(&rig);
}

/* Nobody resends: a lost message is missing, one that the floor passed unseen is unknown, and
 * nothing is waited for. */
TEST(test_unreliable_outcomes_are_true)
{
	struct rig rig;

	rig_open_spoken(&rig, UNRELIABLE, "delay 10ms");
	rig_change(&rig, "delay 10ms loss mask 0x1");
	rig_send_many(&rig, 2);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 1);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 1);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	rig_close(&rig);
}

TEST(test_unreliable_selective_reports_the_hole)
{
	struct rig rig;

	rig_open_spoken(&rig, UNRELIABLE_SELECTIVE, "delay 10ms");
	rig_change(&rig, "delay 10ms loss mask 0x1");
	rig_send_many(&rig, 10);
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 10);
	assert_int_equal(state_of(&rig.acceptor)->seen.floor, 2);
	for (int i = 0; i < 4; i++) {
		rig_send_many(&rig, POSITIVE_ACK_HINDSIGHT / 2);
		rig_run(&rig, 100 * NOPAL_MILLISECOND);
	}
	assert_int_equal(state_of(&rig.acceptor)->seen.floor, 12 + 2 * POSITIVE_ACK_HINDSIGHT);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED],
			 10 + 2 * POSITIVE_ACK_HINDSIGHT);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_UNKNOWN], 1);
	rig_close(&rig);
}

TEST(test_floor_rides_on_data)
{
	struct rig rig;
	uint64_t before;

	rig_open_spoken(&rig, PIGGYBACK, "delay 10ms");
	before = nopal_session_counters(rig.acceptor.session)->control_out;
	rig_send_many(&rig, 1);
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_send(rig.acceptor.session, "y", 1, 0), 0);
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 2);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out, before);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	rig_close(&rig);
}

TEST(test_duplicate_is_acknowledged_again)
{
	struct rig rig;
	uint64_t before;

	rig_open_spoken(&rig, CUMULATIVE, "delay 10ms");
	before = nopal_session_counters(rig.acceptor.session)->control_out;
	rig_change(&rig, "delay 10ms duplicate 100%");
	rig_send_many(&rig, 1);
	rig_run(&rig, 12 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->control_out, before + 1);
	rig_close(&rig);
}

TEST(test_no_more_than_the_window_is_outstanding)
{
	struct rig rig;

	rig_open_spoken(&rig,
			BASE "positive_ack { window = 8 } retransmission_timer {}\nretransmit {}\n",
			"delay 10ms");
	rig_send_many(&rig, 20);
	assert_int_equal(nopal_next_packet_number(rig.opener.session), 1 + 8);
	assert_int_equal(state_of(&rig.opener)->waiting.count, 12);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 21);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 21);
	rig_close(&rig);
}

/* ------------------------------------------------------------- hostile acks */

/* Two away, numbers 2 and 3, packets 1 and 2; nothing of what follows is true. */
TEST(test_untrue_acks_change_nothing)
{
	static const uint8_t high[] = { 0x02 }, zero[] = { 0x01, 0x00 };
	uint8_t bytes[512];
	struct rig rig;
	size_t length;

	rig_open_spoken(&rig, SELECTIVE, "delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 2);
	length = ack_body(bytes, 3, 2, NULL, 0); /* packet never sent */
	ack(&rig, bytes, length);
	length = ack_body(bytes, 2, 5, NULL, 0); /* floor beyond the next */
	ack(&rig, bytes, length);
	length = ack_body(bytes, 2, 2, high, 1); /* number 4 */
	ack(&rig, bytes, length);
	length = ack_body(bytes, 2, 2, zero, 2); /* not canonical */
	ack(&rig, bytes, length);
	length = ack_body(bytes, UINT32_MAX, UINT32_MAX, NULL, 0);
	ack(&rig, bytes, length);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RECEIVED), 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_ACK_FROM_NET), 1);
	assert_int_equal(state_of(&rig.opener)->largest, 0);
	length = ack_body(bytes, 2, 2, (const uint8_t[]){ 1 }, 1);
	for (size_t cut = 0; cut < ACK_REPORT_HEAD_BYTES; cut++)
		ack(&rig, bytes, cut);
	assert_int_equal(rig_count(&rig.opener, NOPAL_ACK_FROM_NET), 1);
	ack(&rig, bytes, length); /* and this one is */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RECEIVED), 2);
	ack(&rig, bytes, length); /* said twice, raised once */
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_RECEIVED), 2);
	rig_close(&rig);
}

TEST(test_late_ack_takes_nothing_back)
{
	uint8_t bytes[512];
	struct rig rig;

	rig_open_spoken(&rig, CUMULATIVE, "delay 10ms");
	rig_change(&rig, "delay 10ms loss 100%");
	rig_send_many(&rig, 3);
	ack(&rig, bytes, ack_body(bytes, 3, 5, NULL, 0));
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 4);
	ack(&rig, bytes, ack_body(bytes, 1, 3, NULL, 0));
	assert_int_equal(state_of(&rig.opener)->largest, 3);
	assert_int_equal(state_of(&rig.opener)->sent.base, 5);
	rig_close(&rig);
}

TEST(test_ack_before_anything_was_sent)
{
	uint8_t bytes[512];
	struct rig rig;

	rig_open(&rig, CUMULATIVE, NULL);
	ack(&rig, bytes, ack_body(bytes, 0, 1, NULL, 0));
	ack(&rig, bytes, ack_body(bytes, 0, 0, NULL, 0));
	assert_int_equal(rig_count(&rig.opener, NOPAL_ACK_FROM_NET), 0);
	rig_close(&rig);
}

/* Wherever numbers begin, and across the wrap of what is on the wire. */
TEST(test_numbers_expand_to_the_past_only)
{
	uint64_t number;

	assert_true(ack_report_expand(5, 5, &number));
	assert_int_equal(number, 5);
	assert_true(ack_report_expand(UINT64_C(0x100000002), 0xffffffff, &number));
	assert_int_equal(number, 0xffffffff);
	assert_false(ack_report_expand(UINT64_C(0x100000002), 3, &number));
	assert_false(ack_report_expand(5, 6, &number));
	assert_false(ack_report_expand(5, 0xffffffff, &number));
	assert_true(ack_report_expand(0, 0, &number));
}

static void mark_all(struct nopal_numbers *seen, uint64_t first, const char *pattern)
{
	for (size_t i = 0; pattern[i]; i++)
		if (pattern[i] == '1')
			nopal_numbers_mark(NULL, seen, first + i);
}

/* An encoded ack is read back, at every place of the floor in its word. */
TEST(test_bitmap_is_read_as_it_was_written)
{
	for (uint64_t first = 1; first < 200; first++) {
		struct nopal_numbers seen = { 0 };
		struct ack_report report;
		uint8_t bytes[512];
		struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
		uint32_t length;

		assert_int_equal(nopal_numbers_init(&seen, first, 128), 0);
		mark_all(
			&seen, first,
			"110101111111111111111111111111111111111111111111111111111111111111111111111111111111111111101");
		report = (struct ack_report){ .cumulative = seen.floor };
		ack_report_write(&writer, &report);
		length = (uint32_t)ack_report_bitmap_bytes(&seen);
		length = ack_report_bitmap(&seen, seen.floor + 1, writer.at, length);
		writer.at += length;
		assert_true(ack_report_read(nopal_reader_over(bytes, nopal_written(&writer)), 1,
					    seen.end, true, &report));
		assert_int_equal(report.cumulative, first + 2);
		assert_int_equal(report.highest, seen.end - 1);
		for (uint64_t n = report.cumulative + 1; n < seen.end; n++) {
			uint64_t i = n - report.cumulative - 1;
			bool told = ack_report_word(&report, i / 64 * 8) >> i % 64 & 1;

			assert_int_equal(told, nopal_numbers_test(&seen, n) == NOPAL_NUMBER_SEEN);
		}
		nopal_free(NULL, seen.bits);
	}
}

TEST(test_close_in_the_middle)
{
	struct rig rig;

	rig_open_spoken(&rig, CUMULATIVE, "delay 10ms loss 20%");
	rig_send_many(&rig, 50);
	nopal_session_close(rig.opener.session);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 51);
	rig_close(&rig);
	rig_open_spoken(&rig, CUMULATIVE, "delay 10ms");
	rig_send_many(&rig, 50);
	nopal_session_abort(rig.opener.session, "enough");
	rig_run(&rig, NOPAL_SECOND);
	rig_close(&rig);
}

/* The urgent segment has overtaken the segments whose numbers it would wait for, and gates behind
 * wait for it. */
static void check_urgent(const char *config, bool overtakes)
{
	static struct rig urgent;
	struct nopal_property property;

	rig_open(&urgent, config, &(struct rig_options){ .link = "delay 30ms" });
	property.which = nopal_property(urgent.plan, "urgent");
	property.value = 1;
	for (int i = 0; i < 8; i++)
		assert_int_equal(rig_send(&urgent, "later"), 0);
	assert_int_equal(nopal_send_message(urgent.opener.session,
					    &(struct nopal_outgoing){ .bytes = "now",
								      .length = 3,
								      .properties = &property,
								      .property_count = 1 }),
			 0);
	rig_run(&urgent, 5 * NOPAL_SECOND);
	assert_int_equal(urgent.acceptor.delivered, 9);
	assert_int_equal(strcmp(urgent.acceptor.text[8], "now") != 0, overtakes);
	rig_close(&urgent);
}

#define WITH_WINDOW                                                                                \
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"                              \
	"retransmit {}\nduplicate_ack {}\nwindowed_cc {}\ntcp_congestion {}\n"

TEST(test_what_is_urgent_waits_for_no_number)
{
	check_urgent(WITH_WINDOW
		     "positive_ack { window = 2  selective = on } retransmission_timer {}\n",
		     true);
	check_urgent(WITH_WINDOW "positive_ack { selective = on } retransmission_timer {}\n"
				 "windowed_flow { initial = 4 }\n",
		     true);
}

/* An urgent segment would not be acknowledged before the segments that it overtook. */
TEST(test_nothing_is_urgent_where_a_floor_is_all_that_is_told)
{
	check_urgent(WITH_WINDOW "positive_ack {} retransmission_timer {}\n", false);
}
