/* SPDX-License-Identifier: MIT */
/* test_usual_rtt -- where packets overtake, the window is for the round trip that most of them
 * have. */
#include "bbr_parts.h"
#include "support/test.h"

#define LINK "rate 20mbit delay 30ms limit 400 reorder 20%"

TEST(test_overtakers_do_not_make_the_round_trip)
{
	struct bbr_run with, without;

	with = bbr_run(BBR "usual_rtt {}", LINK, NOPAL_SECOND, 5 * NOPAL_SECOND);
	without = bbr_run(BBR, LINK, NOPAL_SECOND, 5 * NOPAL_SECOND);
	assert_true(with.bytes * 10 > without.bytes * 15);
}
