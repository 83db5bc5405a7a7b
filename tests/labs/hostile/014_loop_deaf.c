/* SPDX-License-Identifier: MIT */
/* loop_deaf -- ignores all signals, then never ends. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (int number = 1; number < 64; number++)
		if (number != SIGSYS)
			signal(number, SIG_IGN);
	hostile_loop();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
