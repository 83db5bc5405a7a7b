/* SPDX-License-Identifier: MIT */
/* memory_stack -- calls itself without end. */
#include "hostile.h"

/* Not a tail call, which would be a loop. */
static unsigned long deep(unsigned long depth)
{
	volatile char room[1000];

	room[depth % sizeof(room)] = 1;
	return deep(depth + 1) + (unsigned long)room[0];
}

static void deed(struct nopal_at at)
{
	(void)at;
	deep(0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
