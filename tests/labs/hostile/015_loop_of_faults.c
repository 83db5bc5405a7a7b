/* SPDX-License-Identifier: MIT */
/* loop_of_faults -- handles each of its faults, and faults again. */
#include <signal.h>

#include "hostile.h"

static int *volatile nowhere;

static void ignore(int number)
{
	(void)number;
}

static void deed(struct nopal_at at)
{
	(void)at;
	for (int number = 1; number < 32; number++)
		if (number != SIGSYS)
			signal(number, ignore);
	*(volatile int *)nowhere = 1;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
