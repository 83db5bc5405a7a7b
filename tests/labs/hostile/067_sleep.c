/* SPDX-License-Identifier: MIT */
/* sleep -- sleeps. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	sleep(1000);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
