/* SPDX-License-Identifier: MIT */
/* loop_yield -- gives its turn away for ever. */
#define _GNU_SOURCE
#include <sched.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;)
		sched_yield();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
