/* SPDX-License-Identifier: MIT */
/* crash_timer -- writes to nowhere in a timer. */
#include "hostile.h"

static int *volatile nowhere;

static void deed(struct nopal_at at)
{
	(void)at;
	*(volatile int *)nowhere = 1;
}

HOSTILE_TIMER(deed)
