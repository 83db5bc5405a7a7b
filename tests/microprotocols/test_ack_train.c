/* SPDX-License-Identifier: MIT */
/* test_ack_train -- the first window tells the rate, and startup overflows no queue. */
#include "bbr_parts.h"
#include "support/test.h"

#define LINK "rate 50mbit delay 40ms limit 300"

TEST(test_startup_goes_to_the_rate_at_once)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "ack_train {}", LINK, 0, 500 * NOPAL_MILLISECOND);
	without = bbr_run(BBR, LINK, 0, 500 * NOPAL_MILLISECOND);
	assert_true(with.bytes > without.bytes);
}

TEST(test_startup_overflows_no_queue)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "ack_train {}", LINK, 0, 2 * NOPAL_SECOND);
	without = bbr_run(BBR, LINK, 0, 2 * NOPAL_SECOND);
	assert_int_equal(with.dropped, 0);
	assert_true(without.dropped > 20);
}

/* A queue too short to be seen: losses beyond the rate of the train end startup. */
TEST(test_losses_end_startup)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "ack_train {}", "rate 50mbit delay 40ms limit 40", 0, NOPAL_SECOND);
	without = bbr_run(BBR, "rate 50mbit delay 40ms limit 40", 0, NOPAL_SECOND);
	assert_true(2 * with.dropped < without.dropped);
}
