/* SPDX-License-Identifier: MIT */
/* memory_map -- maps memory for ever. */
#include <sys/mman.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;) {
		char *piece = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (piece != MAP_FAILED)
			hostile_fill(piece, 1 << 24);
	}
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
