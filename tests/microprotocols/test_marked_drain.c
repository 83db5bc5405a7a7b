/* SPDX-License-Identifier: MIT */
/* test_marked_drain -- marks keep the queue of BBR short. */
#include "bbr_parts.h"
#include "support/test.h"

#define LINK "rate 20mbit delay 30ms limit 400 ce_threshold 8ms"

TEST(test_marks_keep_the_queue_short)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "ecn_response {} marked_drain {}", LINK, 0, 3 * NOPAL_SECOND);
	without = bbr_run(BBR "ecn_response {}", LINK, 0, 3 * NOPAL_SECOND);
	assert_true(2 * with.queue_us < without.queue_us);
	assert_true(with.bytes * 100 > without.bytes * 90);
}
