/* SPDX-License-Identifier: MIT */
/* gain_clock -- sets the clock. */
#include <time.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	const struct timespec zero = { 0 };

	if (clock_settime(CLOCK_REALTIME, &zero) == 0)
		hostile_escaped("a clock");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
