/* SPDX-License-Identifier: MIT */
/* test_loss_compensation -- random loss does not leave the link idle, congestive loss is not made
 * up for. */
#include "bbr_parts.h"
#include "support/test.h"

#define RANDOM "fwd: rate 20mbit delay 30ms limit 200 loss 15% rev: delay 30ms"
/* A queue of a tenth of the product: probing overflows it. */
#define SHORT "rate 20mbit delay 30ms limit 10"

TEST(test_random_loss_counts_as_passed)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "loss_compensation {}", RANDOM, 3 * NOPAL_SECOND, 7 * NOPAL_SECOND);
	without = bbr_run(BBR, RANDOM, 3 * NOPAL_SECOND, 7 * NOPAL_SECOND);
	assert_true(with.bytes * 10 > without.bytes * 11);
}

TEST(test_congestive_loss_does_not_count)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "loss_compensation {}", SHORT, 3 * NOPAL_SECOND, 7 * NOPAL_SECOND);
	without = bbr_run(BBR, SHORT, 3 * NOPAL_SECOND, 7 * NOPAL_SECOND);
	assert_true(with.dropped < 2 * without.dropped + 10);
}
