/* SPDX-License-Identifier: MIT */
/* trap_handler -- handles the signal of the walls. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (signal(SIGSYS, SIG_IGN) != SIG_ERR)
		hostile_escaped("the walls");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
