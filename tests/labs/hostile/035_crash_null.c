/* SPDX-License-Identifier: MIT */
/* crash_null -- writes to nowhere. */
#include "hostile.h"

static int *volatile nowhere;

static void deed(struct nopal_at at)
{
	(void)at;
	*(volatile int *)nowhere = 1;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
