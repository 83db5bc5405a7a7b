/* SPDX-License-Identifier: MIT */
/* memory_malloc -- takes memory for ever. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;) {
		char *piece = malloc(1 << 20);

		if (piece)
			hostile_fill(piece, 1 << 20);
	}
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
