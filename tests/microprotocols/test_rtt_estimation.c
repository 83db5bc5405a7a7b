/* SPDX-License-Identifier: MIT */
#include "support/segments.h"
#include "support/test.h"

static const char ESTIMATING[] =
	"transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
	"positive_ack {} retransmission_timer {}\nrtt_estimation {}\na_tap {}\n";

/* An acknowledgement of a transmission that left this long ago. */
static void sample(struct rig *rig, int64_t ago_ns, int64_t delay_ns)
{
	struct nopal_session *session = rig->opener.session;
	struct nopal_ack ack = {
		.largest_is_new = true,
		.largest_sent_ns = session->now_ns - ago_ns,
		.delay_ns = delay_ns,
	};

	nopal_raise_ACK_FROM_NET(session, &ack);
}

static void begin(struct rig *rig)
{
	rig_open(rig, ESTIMATING, NULL);
	rig->opener.session->now_ns = 1000 * NOPAL_SECOND;
}

static int64_t shared(struct rig *rig, const char *name)
{
	return rig_shared(rig->opener.session, name);
}

TEST(test_before_the_first_sample)
{
	struct rig rig;

	begin(&rig);
	assert_int_equal(shared(&rig, "smoothed_rtt_ns"), 0);
	assert_int_equal(shared(&rig, "minimum_rtt_ns"), 0);
	assert_int_equal(shared(&rig, "timeout_ns"), NOPAL_SECOND);
	rig_close(&rig);
}

TEST(test_samples_as_in_rfc_6298)
{
	struct rig rig;

	begin(&rig);
	sample(&rig, 400 * NOPAL_MILLISECOND, 0);
	assert_int_equal(shared(&rig, "smoothed_rtt_ns"), 400 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "rtt_variance_ns"), 200 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "timeout_ns"), 1200 * NOPAL_MILLISECOND);
	sample(&rig, 800 * NOPAL_MILLISECOND, 0);
	assert_int_equal(shared(&rig, "rtt_variance_ns"),
			 250 * NOPAL_MILLISECOND); /* 3/4 200 + 1/4 400 */
	assert_int_equal(shared(&rig, "smoothed_rtt_ns"),
			 450 * NOPAL_MILLISECOND); /* 7/8 400 + 1/8 800 */
	assert_int_equal(shared(&rig, "latest_rtt_ns"), 800 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "minimum_rtt_ns"), 400 * NOPAL_MILLISECOND);
	rig_close(&rig);
}

TEST(test_the_peers_delay_is_deducted_but_not_believed)
{
	struct rig rig;

	begin(&rig);
	sample(&rig, 100 * NOPAL_MILLISECOND, 60 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "latest_rtt_ns"),
			 100 * NOPAL_MILLISECOND); /* would be below minimum */
	sample(&rig, 160 * NOPAL_MILLISECOND, 60 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "latest_rtt_ns"), 100 * NOPAL_MILLISECOND);
	sample(&rig, 160 * NOPAL_MILLISECOND, 61 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "latest_rtt_ns"), 160 * NOPAL_MILLISECOND);
	sample(&rig, 160 * NOPAL_MILLISECOND, -NOPAL_SECOND);
	assert_int_equal(shared(&rig, "latest_rtt_ns"), 160 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "minimum_rtt_ns"), 100 * NOPAL_MILLISECOND);
	rig_close(&rig);
}

TEST(test_the_timeout_stays_within_its_bounds)
{
	struct rig rig;

	begin(&rig);
	for (int i = 0; i < 100; i++)
		sample(&rig, NOPAL_MILLISECOND, 0);
	assert_int_equal(shared(&rig, "timeout_ns"), 200 * NOPAL_MILLISECOND);
	for (int i = 0; i < 100; i++)
		sample(&rig, 90 * NOPAL_SECOND, 0);
	assert_int_equal(shared(&rig, "timeout_ns"), 60 * NOPAL_SECOND);
	rig_close(&rig);
}

TEST(test_no_sample_changes_nothing)
{
	struct rig rig;
	struct nopal_ack ack = { .largest_sent_ns = 1 };

	begin(&rig);
	nopal_raise_ACK_FROM_NET(rig.opener.session, &ack);
	ack.largest_is_new = true;
	ack.largest_sent_ns = -1;
	nopal_raise_ACK_FROM_NET(rig.opener.session, &ack);
	sample(&rig, -NOPAL_SECOND, 0); /* sent after now */
	assert_int_equal(shared(&rig, "smoothed_rtt_ns"), 0);
	sample(&rig, 0, 0); /* at once: still a sample */
	assert_int_equal(shared(&rig, "smoothed_rtt_ns"), 1);
	rig_close(&rig);
}

TEST(test_a_path_is_measured)
{
	struct rig rig;

	rig_open(&rig, ESTIMATING, &(struct rig_options){ .link = "delay 50ms" });
	for (int i = 0; i < 20; i++) {
		rig_send(&rig, "x");
		rig_run(&rig, NOPAL_SECOND);
	}
	/* 100 ms, and at first the 25 ms for which the peer waited */
	assert_in_range(shared(&rig, "smoothed_rtt_ns"), 100 * NOPAL_MILLISECOND,
			127 * NOPAL_MILLISECOND);
	rig_close(&rig);
}

TEST(test_one_that_overtakes_is_not_the_minimum)
{
	struct rig rig;

	begin(&rig);
	for (int i = 0; i < 4; i++)
		sample(&rig, 100 * NOPAL_MILLISECOND, 0);
	for (int i = 0; i < 3; i++) {
		sample(&rig, 10 * NOPAL_MILLISECOND, 0);
		assert_int_equal(shared(&rig, "minimum_rtt_ns"), 100 * NOPAL_MILLISECOND);
	}
	sample(&rig, 10 * NOPAL_MILLISECOND, 0);
	assert_int_equal(shared(&rig, "minimum_rtt_ns"), 10 * NOPAL_MILLISECOND);
	rig_close(&rig);
}

/* The floor rises, but what came last had been reported: it had overtaken. */
TEST(test_where_packets_overtake_the_usual_counts)
{
	struct rig rig;

	begin(&rig);
	for (int i = 0; i < 4; i++)
		sample(&rig, 100 * NOPAL_MILLISECOND, 0);
	nopal_raise_ACK_FROM_NET(rig.opener.session, &(struct nopal_ack){ .cumulative = 5 });
	nopal_raise_ACK_FROM_NET(rig.opener.session, &(struct nopal_ack){ .cumulative = 9 });
	sample(&rig, 10 * NOPAL_MILLISECOND, 0);
	assert_int_equal(shared(&rig, "smoothed_rtt_ns"), 100 * NOPAL_MILLISECOND);
	rig_close(&rig);
}

/* Where acks overtake, each segment counts, and the largest of eight is a sample:
 * what was thought to be the shortest is forgotten. */
TEST(test_where_acks_overtake_each_segment_counts)
{
	struct nopal_session *session;
	struct rig rig;

	rig_open(&rig, ESTIMATING, NULL);
	session = rig.opener.session;
	for (int i = 0; i < 8; i++)
		rig_send(&rig, "x");
	session->now_ns = 1000 * NOPAL_SECOND;
	for (int i = 0; i < 4; i++)
		sample(&rig, 10 * NOPAL_MILLISECOND, 0);
	nopal_raise_ACK_FROM_NET(session, &(struct nopal_ack){ .largest = 7 });
	nopal_raise_ACK_FROM_NET(session, &(struct nopal_ack){ .largest = 6 });
	for (uint64_t i = 0; i < 8; i++) {
		struct nopal_segment *segment =
			nopal_segment_find(session, nopal_transmission_find(session, i)->segment);

		segment->transmitted_ns =
			session->now_ns - (int64_t)(i + 1) * 10 * NOPAL_MILLISECOND;
		nopal_raise_SEGMENT_RECEIVED(session, segment);
		assert_int_equal(shared(&rig, "latest_rtt_ns"), 10 * NOPAL_MILLISECOND);
	}
	nopal_raise_ACK_FROM_NET(session, &(struct nopal_ack){ .largest = 7 });
	assert_int_equal(shared(&rig, "latest_rtt_ns"), 80 * NOPAL_MILLISECOND);
	assert_int_equal(shared(&rig, "minimum_rtt_ns"), 80 * NOPAL_MILLISECOND);
	rig_close(&rig);
}
