/* SPDX-License-Identifier: MIT */
/* test_standing_queue -- a queue that stands ends startup before the bandwidth says so. */
#include "bbr_parts.h"
#include "support/test.h"

#define LINK "rate 50mbit delay 20ms limit 2000"

TEST(test_a_queue_that_stands_ends_startup)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "standing_queue {}", LINK, 0, NOPAL_SECOND);
	without = bbr_run(BBR, LINK, 0, NOPAL_SECOND);
	assert_true(4 * with.queue_us < 3 * without.queue_us);
	assert_true(with.bytes * 100 > without.bytes * 95);
}
