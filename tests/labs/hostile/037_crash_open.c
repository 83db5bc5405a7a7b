/* SPDX-License-Identifier: MIT */
/* crash_open -- writes to nowhere while a session opens. */
#include "hostile.h"

static int *volatile nowhere;

static void deed(struct nopal_at at)
{
	(void)at;
	*(volatile int *)nowhere = 1;
}

HOSTILE_OPEN(deed)
