/* SPDX-License-Identifier: MIT */
/* spoil_neighbour -- writes behind its memory. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	volatile char *memory = malloc(16);

	memory[16] = 1;
	free((char *)(uintptr_t)memory);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
