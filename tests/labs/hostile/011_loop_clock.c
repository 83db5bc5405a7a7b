/* SPDX-License-Identifier: MIT */
/* loop_clock -- waits by looking at a clock. */
#include <time.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	struct timespec now, until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1000;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < until.tv_sec);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
