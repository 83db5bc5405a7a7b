/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"
#include "support/segments.h"
#include "support/test.h"

static const char FILTER[] = "transport_driver {}\nfixed_size {}\n"
			     "sequenced_segments { window = 64 }\na_tap {}\n";
static const char NEEDED[] =
	"transport_driver {}\nfixed_size {}\n"
	"sequenced_segments { window = 64 }\npositive_ack {} retransmission_timer {}\nretransmit {}\n"
	"a_tap {}\n";

enum { WINDOW = 64, NUMBER = 0 };

static uint32_t arrive_number(struct rig *rig, uint64_t number)
{
	struct rig_side *side = &rig->acceptor;
	struct arriving one = arriving_begin(side->session, NOPAL_KIND_DATA, "x", 1);
	uint32_t before = side->delivered;

	nopal_set(rig_at(side->session, "sequenced_segments"), one.segment, NUMBER, number);
	arriving_end(&one);
	return side->delivered - before;
}

TEST(test_each_number_gets_in_once)
{
	struct rig rig;

	rig_begin(&rig, FILTER);
	assert_int_equal(arrive_number(&rig, 1), 0);
	assert_int_equal(arrive_number(&rig, 0), 0);
	assert_int_equal(arrive_number(&rig, 3), 1);
	assert_int_equal(arrive_number(&rig, 3), 0);
	assert_int_equal(arrive_number(&rig, 2), 1);
	assert_int_equal(arrive_number(&rig, 2), 0);
	rig_close(&rig);
}

TEST(test_duplicates_of_the_network_are_dropped)
{
	struct rig rig;

	rig_open(&rig, FILTER, &(struct rig_options){ .link = "delay 10ms duplicate 100%" });
	for (int i = 0; i < 200; i++)
		rig_send(&rig, "x");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 200);
	rig_close(&rig);
}

TEST(test_what_is_still_needed_is_not_given_up)
{
	struct rig rig;

	rig_begin(&rig, NEEDED);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 0);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW - 1), 1);
	assert_int_equal(arrive_number(&rig, 2), 1);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 1);
	rig_close(&rig);
}

TEST(test_the_window_follows_where_nobody_resends)
{
	struct rig rig;

	rig_begin(&rig, FILTER);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 0); /* a stray? */
	assert_int_equal(arrive_number(&rig, WINDOW), 1);
	assert_int_equal(arrive_number(&rig, 2 + WINDOW), 1);
	assert_int_equal(arrive_number(&rig, 2), 0); /* given up */
	assert_int_equal(arrive_number(&rig, 3), 1); /* not yet */
	rig_close(&rig);
}

/* One number from far ahead is a stray; a second from there is the stream. */
TEST(test_a_stream_comes_back_after_an_outage)
{
	const uint64_t far = UINT64_C(1) << 31;
	struct rig rig;

	rig_begin(&rig, FILTER);
	assert_int_equal(arrive_number(&rig, far), 0);
	assert_int_equal(arrive_number(&rig, 2), 1);
	assert_int_equal(arrive_number(&rig, 2 * far), 0);
	assert_int_equal(arrive_number(&rig, far + 3), 0);
	assert_int_equal(arrive_number(&rig, far + 5), 1);
	assert_int_equal(arrive_number(&rig, 3), 0);
	assert_int_equal(arrive_number(&rig, far + 6), 1);
	rig_close(&rig);
}

TEST(test_the_window_is_shared)
{
	struct rig rig;

	rig_open(&rig, FILTER, NULL);
	assert_int_equal(rig_shared(rig.opener.session, "segment_window"), WINDOW);
	rig_close(&rig);
}

/* All orders of six segments: each arrives, once. */
TEST(test_any_order_is_let_in)
{
	uint64_t order[6] = { 2, 3, 4, 5, 6, 7 };

	for (unsigned turn = 0; turn < 720; turn += 7) {
		struct rig rig;
		unsigned rest = turn;

		rig_begin(&rig, NEEDED);
		for (unsigned i = 6; i > 1; i--) {
			uint64_t kept = order[i - 1];

			order[i - 1] = order[rest % i];
			order[rest % i] = kept;
			rest /= i;
		}
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(arrive_number(&rig, order[i]), 1);
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(arrive_number(&rig, order[i]), 0);
		rig_close(&rig);
	}
}
