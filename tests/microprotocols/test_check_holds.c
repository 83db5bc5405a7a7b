/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "stubs.h"
#include "support/test.h"

ALL_TESTS(tests, stubs_register, NULL);

#define BASE "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"

static struct rig rig;

/* A segment that is done and still there: redundancy keeps it. */
static struct nopal_segment *one_done(void)
{
	rig_open(&rig, BASE "check_holds {}\nforward_error_correction {}\n", NULL);
	assert_int_equal(rig_send(&rig, "x"), 0);
	assert_true(stub_segment(&rig)->done);
	return stub_segment(&rig);
}

/* A segment that left, is not done, and belongs to whoever acknowledges. */
static struct nopal_segment *one_away(void)
{
	rig_open(&rig, BASE "check_holds {}\nstub_ack {}\nretransmit {}\n", NULL);
	assert_int_equal(rig_send(&rig, "x"), 0);
	assert_false(stub_segment(&rig)->done);
	return stub_segment(&rig);
}

static void assert_fired(const char *what)
{
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_RUNTIME_LIMIT);
	assert_non_null(strstr(rig.opener.end_text, "check_holds"));
	assert_non_null(strstr(rig.opener.end_text, what));
	rig_close(&rig);
}

TEST(test_a_transmission_after_done_is_seen)
{
	struct nopal_segment *segment = one_done();

	STUB_RAISE(&rig, SEND_SEGMENT, segment);
	assert_fired("after it is done");
}

TEST(test_asking_after_done_is_seen)
{
	struct nopal_segment *segment = one_done();

	STUB_RAISE(&rig, SEGMENT_RESEND, segment);
	assert_fired("done is asked");
}

TEST(test_done_twice_is_seen)
{
	struct nopal_segment *segment = one_done();

	STUB_RAISE(&rig, SEGMENT_DONE, segment);
	assert_fired("done twice");
}

TEST(test_received_twice_is_seen)
{
	struct nopal_segment *segment = one_done();

	STUB_RAISE(&rig, SEGMENT_RECEIVED, segment);
	assert_int_equal(rig.opener.ended, 0);
	STUB_RAISE(&rig, SEGMENT_RECEIVED, segment);
	assert_fired("received twice");
}

TEST(test_transmissions_that_nobody_asked_for_are_seen)
{
	struct nopal_segment *segment = one_away();

	STUB_RAISE(&rig, SEND_SEGMENT, segment); /* the asking may be heard later */
	assert_int_equal(rig.opener.ended, 0);
	STUB_RAISE(&rig, SEND_SEGMENT, segment);
	assert_fired("nobody asked");
}

TEST(test_received_before_it_left_is_seen)
{
	rig_open(&rig, BASE "check_holds {}\nstub_gate {}\n", NULL);
	assert_int_equal(rig_send(&rig, "x"), 0);
	STUB_RAISE(&rig, SEGMENT_RECEIVED, stub_segment(&rig));
	assert_fired("never left");
}

TEST(test_a_segment_that_waits_too_long_is_seen)
{
	rig_open(&rig, BASE "check_holds { stall = 2s }\nstub_gate {}\n", NULL);
	assert_int_equal(rig_send(&rig, "x"), 0);
	rig_run(&rig, 1900 * NOPAL_MILLISECOND);
	assert_int_equal(rig.opener.ended, 0);
	rig_run(&rig, 200 * NOPAL_MILLISECOND);
	assert_fired("nothing happens");
}

TEST(test_steps_keep_the_watchdog_quiet)
{
	struct nopal_segment *segment;

	rig_open(&rig, BASE "check_holds { stall = 2s }\nstub_ack {}\nretransmit {}\n", NULL);
	assert_int_equal(rig_send(&rig, "x"), 0);
	segment = stub_segment(&rig);
	for (int second = 0; second < 10; second++) {
		rig_run(&rig, NOPAL_SECOND);
		STUB_RAISE(&rig, SEGMENT_TIMEOUT, segment);
	}
	STUB_RAISE(&rig, SEGMENT_RECEIVED, segment);
	rig_run(&rig, 100 * NOPAL_SECOND); /* nothing is open: nothing to watch */
	assert_int_equal(rig.opener.ended, 0);
	rig_close(&rig);
}

/* Whoever hears of an asking first: sound compositions pass. */
TEST(test_sound_compositions_pass)
{
	static const char *const configs[] = {
		BASE "check_holds {}\n",
		"check_holds {}\n" BASE,
		BASE "check_holds {}\nforward_error_correction {}\n",
		BASE "check_holds {}\nrtt_estimation {}\npositive_ack {} retransmission_timer {}\n"
		     "duplicate_ack {}\nretransmit {}\nreliable_fifo {}\n",
		BASE "check_holds {}\nrtt_estimation {}\npositive_ack {} retransmission_timer {}\n"
		     "duplicate_ack {}\nretransmit {}\nreliable_fifo {}\n"
		     "windowed_cc {}\ntcp_congestion {}\nforward_error_correction {}\n",
	};
	const struct rig_options options = {
		.link = "delay 20ms 3ms loss 5% duplicate 5%",
		.seed = 4,
	};

	for (size_t c = 0; c < sizeof(configs) / sizeof(configs[0]); c++) {
		rig_open(&rig, configs[c], &options);
		for (int i = 0; i < 300; i++) {
			rig_send(&rig, "x");
			rig_run(&rig, NOPAL_MILLISECOND);
		}
		rig_run(&rig, 20 * NOPAL_SECOND);
		assert_string_equal(rig.opener.end_text, "");
		assert_string_equal(rig.acceptor.end_text, "");
		assert_true(rig.acceptor.delivered > 250);
		rig_close(&rig);
	}
}
