/* SPDX-License-Identifier: MIT */
/* Reports of one receiver about its path: which losses are congestion. */
#include <string.h>

#include "../../microprotocols/group/receiver_path.h"
#include "support/test.h"

enum { REPORT = 20, PERCENT = 100 };
#define RTT_NS	 (20 * NOPAL_MILLISECOND)
#define EVERY_NS (10 * NOPAL_MILLISECOND)

/* A path, and the time of its last report. */
static struct receiver_path path;
static int64_t now_ns;

static void begin(void)
{
	memset(&path, 0, sizeof(path));
	now_ns = NOPAL_SECOND;
}

/* One after EVERY_NS, whose newest took so long; true: it is congestion. */
static bool report(uint64_t arrived, uint64_t missing, int64_t rtt_ns, bool known)
{
	struct nopal_channel_report one = { .arrived = arrived,
					    .missing = missing,
					    .rows = missing,
					    .rtt_ns = RTT_NS,
					    .sample_ns = rtt_ns };

	now_ns += EVERY_NS;
	one.left_ns = rtt_ns ? now_ns - rtt_ns : 0;
	receiver_path_note(&path, &one, now_ns);
	if (receiver_path_judge(&path, &one, now_ns, known))
		return true;
	receiver_path_learn(&path, &one);
	return false;
}

/* So many segments, of which that share is lost, evenly; how many reports were congestion. */
static int lose(int segments, int percent, int64_t rtt_ns, bool known)
{
	int congested = 0, lost = 0;

	for (int sent = REPORT; sent <= segments; sent += REPORT) {
		int more = sent * percent / PERCENT - lost;

		congested += report((uint64_t)(REPORT - more), (uint64_t)more, rtt_ns, known);
		lost += more;
	}
	return congested;
}

/* Whatever the rate is, so much is lost: that is learned while it is slow. */
TEST(test_what_is_lost_at_any_rate_is_random)
{
	static const int percents[] = { 0, 1, 2, 5, 8 };

	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		begin();
		assert_int_equal(lose(4000, percents[i], RTT_NS, false), 0);
		assert_int_equal(lose(20000, percents[i], RTT_NS, true), 0);
	}
}

/* The same losses with a queue before them, that did not go for a round trip. */
TEST(test_where_a_queue_stands_a_loss_is_congestion)
{
	begin();
	assert_int_equal(lose(4000, 2, RTT_NS, false), 0);
	assert_false(report(19, 1, 2 * RTT_NS, true)); /* it has come now */
	assert_false(report(19, 1, 2 * RTT_NS, true));
	assert_true(report(19, 1, 2 * RTT_NS, true));
	assert_false(report(20, 0, 2 * RTT_NS, true));
	/* as large as noise is */
	assert_false(report(19, 1, RTT_NS + RTT_NS / 4, true));
	assert_false(report(19, 1, 2 * RTT_NS, true));
}

/* Nothing told of the queue for a round trip: nobody knows whether it stands. */
TEST(test_what_is_known_of_a_queue_grows_old)
{
	begin();
	assert_int_equal(lose(4000, 2, RTT_NS, false), 0);
	assert_int_equal(lose(100, 0, 2 * RTT_NS, true), 0);
	assert_true(report(19, 1, 0, true));
	assert_true(report(19, 1, 0, true));
	assert_false(report(19, 1, 0, true));
	assert_false(report(19, 1, 0, true));
}

/* There is room for a few segments before the bottleneck: no queue is to be seen. */
TEST(test_more_than_random_is_congestion)
{
	for (int percent = 0; percent <= 5; percent++) {
		begin();
		assert_int_equal(lose(8000, percent, RTT_NS, false), 0);
		assert_int_equal(lose(2000, percent, RTT_NS, true), 0);
		receiver_path_begin(&path);
		assert_true(lose(RECEIVER_PATH_TOGETHER, 2 * percent + 2, RTT_NS, true) > 0);
	}
}

/* However long it has been so. */
TEST(test_more_than_a_tenth_is_congestion)
{
	begin();
	assert_true(lose(RECEIVER_PATH_TOGETHER, 25, RTT_NS, true) > 0);
	begin();
	assert_true(lose(RECEIVER_PATH_TOGETHER, 25, RTT_NS, false) > 0);
	begin();
	assert_true(lose(RECEIVER_PATH_MEMORY, 12, RTT_NS, false) > 0);
	begin();
	assert_int_equal(lose(RECEIVER_PATH_MEMORY, 9, RTT_NS, false), 0);
	assert_int_equal(lose(RECEIVER_PATH_MEMORY, 9, RTT_NS, true), 0);
}

/* Where trains of segments get lost as one, a few of them are no more than chance. */
TEST(test_a_row_counts_once)
{
	struct nopal_channel_report row = {
		.arrived = 10, .missing = 40, .rows = 1, .rtt_ns = RTT_NS
	};

	begin();
	assert_int_equal(lose(4000, 0, RTT_NS, false), 0);
	assert_int_equal(lose(200, 0, RTT_NS, true), 0);
	receiver_path_note(&path, &row, now_ns);
	assert_false(receiver_path_judge(&path, &row, now_ns, true));
	row.rows = row.missing;
	receiver_path_note(&path, &row, now_ns);
	assert_true(receiver_path_judge(&path, &row, now_ns, true));
}

/* Knowledge from a time with a queue fades. */
TEST(test_slow_ones_that_rendezvous_a_queue_are_free_of_loss)
{
	begin();
	assert_int_equal(lose(4000, 5, RTT_NS, false), 0);
	assert_in_range(path.slow_lost * PERCENT / path.slow, 4, 5);
	for (int i = 0; i < 400; i++) { /* now there, now not: it does not stand */
		report(18, 2, 2 * RTT_NS, false);
		report(20, 0, RTT_NS, false);
	}
	assert_in_range(path.slow_lost * PERCENT / path.slow, 0, 2);
}

/* So much more time than it left in it took to arrive. */
TEST(test_what_passes)
{
	int64_t rtt_ns = RTT_NS;

	begin();
	report(REPORT, 0, rtt_ns, true);
	assert_int_equal(receiver_path_passed(&path), RECEIVER_PATH_ONE);
	assert_false(receiver_path_is_flooded(&path));
	for (int i = 0; i < 40; i++) /* five of ten milliseconds */
		report(REPORT, 0, rtt_ns += EVERY_NS / 2, true);
	assert_in_range(receiver_path_passed(&path) * UINT64_C(100),
			49 * (uint64_t)RECEIVER_PATH_ONE, 53 * (uint64_t)RECEIVER_PATH_ONE);
	assert_true(receiver_path_is_flooded(&path));
	assert_true(receiver_path_is_queued(&path, now_ns));
	for (int i = 0; i < 40; i++) /* it is full: it grows no more */
		report(REPORT, 0, rtt_ns, true);
	assert_false(receiver_path_is_flooded(&path));
	assert_true(receiver_path_is_queued(&path, now_ns));
	/* a quarter is lost */
	receiver_path_begin(&path);
	for (int i = 0; i < 20; i++)
		report(15, 5, 0, false);
	receiver_path_begin(&path);
	path.sent = 100;
	path.lost = 25;
	path.passed = RECEIVER_PATH_ONE;
	assert_int_equal(receiver_path_passed(&path), RECEIVER_PATH_ONE / 4 * 3);
	path.lost = 90; /* one report is no reason to fall to a tenth */
	assert_int_equal(receiver_path_passed(&path), RECEIVER_PATH_ONE / 2);
}

/* Before anything was congestion, a queue that grows is. */
TEST(test_the_first_queue)
{
	int64_t rtt_ns = RTT_NS;
	int congested = 0;

	begin();
	for (int i = 0; i < 20; i++)
		congested += report(REPORT, 0, rtt_ns += EVERY_NS / 2, false);
	assert_true(congested > 0);
	begin();
	congested = 0;
	rtt_ns = RTT_NS;
	for (int i = 0; i < 20; i++)
		congested += report(REPORT, 0, rtt_ns += EVERY_NS / 2, true);
	assert_int_equal(congested, 0);
}

/* The path has become longer: after ten seconds that is no queue any more. */
TEST(test_the_min_round_trip_grows_old)
{
	begin();
	assert_int_equal(lose(4000, 2, RTT_NS, false), 0);
	assert_true(lose(4000, 2, 3 * RTT_NS, true) > 0);
	assert_true(receiver_path_is_queued(&path, now_ns));
	while (now_ns < 14 * NOPAL_SECOND)
		report(REPORT, 0, 3 * RTT_NS, true);
	assert_false(receiver_path_is_queued(&path, now_ns));
}

/* A peer's report of itself may be anything. */
TEST(test_what_no_honest_one_reports)
{
	begin();
	for (int i = 0; i < 100; i++)
		report(UINT32_MAX, UINT32_MAX, i % 3 ? 1 : NOPAL_SECOND, i % 2);
	assert_in_range(path.hurt, 0, RECEIVER_PATH_ONE);
	assert_in_range(receiver_path_passed(&path), 1, RECEIVER_PATH_ONE);
	assert_true(path.slow_lost <= path.slow);
}
