/* SPDX-License-Identifier: MIT */
/* test_queue_drain -- a slow phase lasts until the queue is gone. */
#include "bbr_parts.h"
#include "support/test.h"

#define LINK "fwd: rate 20mbit delay 30ms limit 400 loss 15% rev: delay 30ms"

TEST(test_a_slow_phase_takes_the_queue_away)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "loss_compensation {} queue_drain {}", LINK, 3 * NOPAL_SECOND,
		       12 * NOPAL_SECOND);
	without = bbr_run(BBR "loss_compensation {}", LINK, 3 * NOPAL_SECOND, 12 * NOPAL_SECOND);
	assert_true(4 * with.queue_us < 3 * without.queue_us);
	assert_true(with.bytes * 100 > without.bytes * 97);
}

TEST(test_one_round_trip_is_the_plain_phase)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "loss_compensation {} queue_drain { most = 1  probe = 0% }", LINK, 0,
		       5 * NOPAL_SECOND);
	without = bbr_run(BBR "loss_compensation {}", LINK, 0, 5 * NOPAL_SECOND);
	assert_int_equal(with.bytes, without.bytes);
	assert_int_equal(with.queue_us, without.queue_us);
}
