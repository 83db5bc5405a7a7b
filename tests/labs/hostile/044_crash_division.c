/* SPDX-License-Identifier: MIT */
/* crash_division -- divides by zero. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	volatile int zero = 0;

	if (1 / zero)
		hostile_turns++;
	raise(SIGFPE); /* where a division by zero is nothing */
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
