/* SPDX-License-Identifier: MIT */
/* The pipe does not run dry between bursts of acks. */
#include "bbr_parts.h"
#include "support/test.h"

#define LINK "rate 50mbit delay 5ms limit 300"

TEST(test_room_for_bursts_of_acks)
{
	struct bbr_run with, without;

	/* acks come two round trips and more apart */
	bottleneck_acks = "every = 128  delay = 25ms  selective = on";
	with = bbr_run(BBR "usual_rtt {} ack_aggregation {}", LINK, NOPAL_SECOND, 5 * NOPAL_SECOND);
	without = bbr_run(BBR "usual_rtt {}", LINK, NOPAL_SECOND, 5 * NOPAL_SECOND);
	assert_true(with.bytes * 10 > without.bytes * 15);
}
