/* SPDX-License-Identifier: MIT */
/* fork_bomb -- forks for ever. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;)
		if (fork() == 0)
			hostile_escaped("a child");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
