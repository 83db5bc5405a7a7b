/* SPDX-License-Identifier: MIT */
/* stop_self -- stops itself. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	raise(SIGSTOP);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
