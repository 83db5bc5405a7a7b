/* SPDX-License-Identifier: MIT */
#include "support/segments.h"
#include "support/test.h"

enum { MARKS = 0, ROOM = 64, WINDOW = 0, SEGMENT = 1460 };

/* A policy that grows by a segment a round trip, and halves on a mark; it notes when it was told,
 * and of how many losses. */
static uint32_t raises, losses;
static int64_t raised_ns[ROOM];

static enum nopal_verdict stub_policy_on_marked(struct nopal_at at, struct nopal_session *subject)
{
	int64_t window = nopal_shared_get(at, WINDOW) / 2;

	assert_ptr_equal(at.session, subject);
	if (raises < ROOM)
		raised_ns[raises] = at.session->now_ns;
	raises++;
	nopal_shared_set(at, WINDOW, window > 2 * SEGMENT ? window : 2 * SEGMENT);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict stub_policy_on_ack(struct nopal_at at, struct nopal_ack *ack)
{
	uint64_t window = (uint64_t)nopal_shared_get(at, WINDOW);

	nopal_shared_get(at, WINDOW) +=
		(int64_t)nopal_scale(ack->newly_acked_bytes, SEGMENT, window);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict stub_policy_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	losses++;
	return NOPAL_CONTINUE;
}

static const struct nopal_binding stub_policy_bindings[] = {
	NOPAL_ON(CONGESTION_MARKED, stub_policy_on_marked),
	NOPAL_ON(ACK_PROCESSED, stub_policy_on_ack),
	NOPAL_ON(SEGMENT_LOST, stub_policy_on_lost),
	{ 0 },
};

static const struct nopal_microprotocol stub_policy = {
	.abi = NOPAL_ABI,
	.name = "stub_policy",
	.family = "congestion",
	.summary = "gives way to marks",
	.provides = (const struct nopal_role[]){ { "congestion_policy", true },
						 { "window_policy", false },
						 { 0 } },
	.shared =
		(const struct nopal_shared[]){ [WINDOW] = { "congestion_window_bytes", NOPAL_WRITE,
							    10 * SEGMENT, "what may be in flight" },
					       { 0 } },
	.bindings = stub_policy_bindings,
};

/* A path on which all segments arrive with `path_says`, where it says anything. */
static int path_says = -1;

static enum nopal_verdict a_path_on_any(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	if (path_says >= 0)
		segment->ecn = (uint8_t)path_says;
	return NOPAL_CONTINUE;
}

static const struct nopal_binding a_path_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_NET, a_path_on_any, .before = "congestion_marks"),
	{ 0 },
};

static const struct nopal_microprotocol a_path = {
	.abi = NOPAL_ABI,
	.name = "a_path",
	.family = "check",
	.summary = "a path that changes marks",
	.bindings = a_path_bindings,
};

static const char MARKED[] =
	"transport_driver {}\nresize {}\nvirtual_circuit {}\n"
	"sequenced_segments {}\npositive_ack {} retransmission_timer {}\nduplicate_ack {}\n"
	"rtt_estimation {}\nretransmit {}\nwindowed_cc {}\nstub_policy {}\n"
	"ecn_response {}\na_path {}\na_tap {}\n";

static struct rig rig;
static struct tapped tapped;

static void begin(const char *link)
{
	rig_add(&stub_policy);
	rig_add(&a_path);
	path_says = -1;
	rig_open(&rig, MARKED, &(struct rig_options){ .link = link });
	memset(&tapped, 0, sizeof(tapped));
	nopal_sim_tap(rig.world, tapped_note, &tapped);
	raises = losses = 0;
}

static uint32_t reports(void)
{
	return tapped_count(&tapped, rig_part(rig.opener.session, "ecn_response")->kind[MARKS]);
}

static uint8_t leaves_with(const struct nopal_session *session)
{
	return rig_awake(session)->path_ecn;
}

TEST(test_without_marks_nothing_is_told)
{
	begin("rate 10mbit delay 10ms");
	assert_int_equal(leaves_with(rig.opener.session), NOPAL_ECT_0);
	assert_int_equal(leaves_with(rig.acceptor.session), NOPAL_ECT_0);
	rig_send_bytes(&rig, 200000);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(reports(), 0);
	assert_int_equal(raises, 0);
	rig_close(&rig);
}

TEST(test_a_mark_comes_back)
{
	begin("delay 10ms");
	rig_change(&rig, "delay 10ms loss mask 001 ecn");
	rig_send_bytes(&rig, 10000);
	rig_run(&rig, 25 * NOPAL_MILLISECOND);
	assert_int_equal(raises, 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_CONGESTION_MARKED), 1);
	assert_int_equal(rig_count(&rig.acceptor, NOPAL_CONGESTION_MARKED), 0);
	assert_int_equal(rig_shared(rig.opener.session, "marked_segments"), 1);
	assert_int_equal(reports(), 1);
	/* said again, for it might have been lost: that changes nothing */
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(reports(), 3);
	assert_int_equal(raises, 1);
	assert_int_equal(losses, 0);
	rig_close(&rig);
}

TEST(test_a_report_that_is_lost_is_made_up_for)
{
	begin("delay 10ms");
	rig_change_both(&rig, "fwd: delay 10ms loss mask 1 ecn rev: delay 10ms loss 100%");
	/* acks and reports get lost, be they marked or not */
	rig_send(&rig, "x");
	rig_run(&rig, 15 * NOPAL_MILLISECOND);
	assert_int_equal(reports(), 1);
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(raises, 1);
	rig_close(&rig);
}

TEST(test_one_raise_a_round_trip)
{
	const int64_t trip_ns = 100 * NOPAL_MILLISECOND;

	begin("rate 10mbit delay 50ms");
	rig_change(&rig, "rate 10mbit delay 50ms loss 100% ecn");
	for (int i = 0; i < 20; i++) {
		rig_send_bytes(&rig, 20000);
		rig_run(&rig, 100 * NOPAL_MILLISECOND);
	}
	assert_in_range(raises, 10, 21);
	for (uint32_t i = 1; i < raises; i++)
		assert_true(raised_ns[i] - raised_ns[i - 1] >= trip_ns);
	assert_int_equal(losses, 0);
	rig_close(&rig);
}

TEST(test_marks_are_told_in_time_and_not_too_often)
{
	int64_t last_ns = -NOPAL_SECOND;
	uint8_t kind;

	begin("rate 100mbit delay 5ms");
	kind = rig_part(rig.opener.session, "ecn_response")->kind[MARKS];
	rig_change(&rig, "rate 100mbit delay 5ms loss 100% ecn");
	for (int i = 0; i < 50; i++) {
		rig_send_bytes(&rig, 10000);
		rig_run(&rig, 2 * NOPAL_MILLISECOND);
	}
	for (uint32_t i = 0; i < tapped.count; i++)
		if (tapped.kind[i] == kind) {
			assert_true(tapped.time_ns[i] - last_ns >= NOPAL_MILLISECOND);
			last_ns = tapped.time_ns[i];
		}
	assert_true(reports() > 20);
	rig_close(&rig);
}

TEST(test_a_path_that_takes_marks_off_is_found)
{
	begin("rate 100mbit delay 5ms");
	path_says = NOPAL_NOT_ECT;
	for (int i = 0; i < 9; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(leaves_with(rig.opener.session), NOPAL_ECT_0);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(leaves_with(rig.opener.session), NOPAL_NOT_ECT);
	/* the acceptor sent nothing that could have been spoiled */
	assert_int_equal(leaves_with(rig.acceptor.session), NOPAL_ECT_0);
	for (int i = 0; i < 1000; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, 10 * NOPAL_MILLISECOND);
	}
	assert_in_range(reports(), 3, 24); /* of ever more segments */
	assert_int_equal(raises, 0);
	rig_close(&rig);
}

TEST(test_a_path_that_changes_marks_is_found)
{
	begin("rate 100mbit delay 5ms");
	path_says = NOPAL_ECT_1;
	for (int i = 0; i < 10; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(leaves_with(rig.opener.session), NOPAL_NOT_ECT);
	/* what it says of later marks is not believed */
	path_says = NOPAL_CE;
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(raises, 0);
	rig_close(&rig);
}

TEST(test_a_path_that_drops_all_is_tried_without)
{
	begin("delay 10ms");
	rig_change_both(&rig, "loss 100%");
	for (int i = 0; i < 4; i++)
		rig_send(&rig, "x");
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(leaves_with(rig.opener.session), NOPAL_NOT_ECT);
	rig_change_both(&rig, "delay 10ms");
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 4);
	rig_close(&rig);
}

TEST(test_an_outage_does_not_end_marks)
{
	begin("delay 10ms");
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	rig_change_both(&rig, "loss 100%");
	for (int i = 0; i < 4; i++)
		rig_send(&rig, "x");
	rig_run(&rig, 20 * NOPAL_SECOND);
	assert_int_equal(leaves_with(rig.opener.session), NOPAL_ECT_0);
	rig_close(&rig);
}

TEST(test_reports_are_checked)
{
	static const struct {
		uint8_t length, bytes[8];
	} bad[] = {
		{ 0, { 0 } },
		{ 3, { 0, 0, 0 } },
		{ 5, { 0, 0, 0, 0, 1 } },
		{ 6, { 0, 0, 0, 0, 0x81, 0x80 } },
		{ 7, { 0, 0, 0, 0, 1, 0, 0 } }, /* more than there is */
		{ 6, { 0, 0, 1, 0, 1, 0 } },	/* packet 256 never left */
		{ 6, { 0xff, 0xff, 0xff, 0xff, 1, 0 } },
		{ 6, { 0, 0, 0, 0, 0, 0 } }, /* of no mark */
	};
	static const uint8_t good[] = { 0, 0, 0, 0, 1, 0 };

	begin("delay 10ms");
	arrive_control(rig.opener.session, "ecn_response", MARKS, good,
		       sizeof(good)); /* nothing left yet */
	assert_int_equal(raises, 0);
	rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		arrive_control(rig.opener.session, "ecn_response", MARKS, bad[i].bytes,
			       bad[i].length);
	assert_int_equal(raises, 0);
	assert_int_equal(leaves_with(rig.opener.session), NOPAL_ECT_0);
	arrive_control(rig.opener.session, "ecn_response", MARKS, good, sizeof(good));
	arrive_control(rig.opener.session, "ecn_response", MARKS, good, sizeof(good));
	assert_int_equal(raises, 1);
	rig_close(&rig);
}

/* Offers a little more than 10 Mbit/s; returns what came through. */
static uint64_t busy(struct nopal_link_counters *counters, int tenths)
{
	uint64_t before;

	assert_true(nopal_sim_link_counters(rig.world, 0, 1, counters));
	before = counters->delivered_bytes;
	for (int i = 0; i < tenths; i++) {
		rig_send_bytes(&rig, 130000);
		rig_run(&rig, 100 * NOPAL_MILLISECOND);
	}
	assert_true(nopal_sim_link_counters(rig.world, 0, 1, counters));
	return counters->delivered_bytes - before;
}

/* A queue that marks is never full, and the line never idle. */
TEST(test_a_marked_bottleneck_loses_nothing)
{
	struct nopal_link_counters counters;

	begin("rate 10mbit delay 20ms ce_threshold 40ms limit 200");
	busy(&counters, 50);
	/* 10 s of 10 Mbit/s, but for headers and a hundredth */
	assert_true(busy(&counters, 100) > 12500000 / 1500 * 1472 / 100 * 99);
	assert_true(counters.marked > 0);
	assert_int_equal(counters.lost + counters.overflowed, 0);
	assert_true(counters.queue_peak < 100);
	assert_in_range(raises, 2, 30);
	assert_in_range(rig_shared(rig.opener.session, "marked_segments"), raises, counters.marked);
	assert_int_equal(losses, 0);
	rig_close(&rig);
}

TEST(test_who_is_marked_must_give_way)
{
	char text[1024];

	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"sequenced_segments {}\npositive_ack {} retransmission_timer {}\n"
				"ecn_response {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "congestion_policy"));
}
