/* SPDX-License-Identifier: MIT */
/* memory_shared -- takes memory that is shared with nobody. */
#include <sys/mman.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;) {
		char *piece = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (piece != MAP_FAILED)
			hostile_fill(piece, 1 << 24);
	}
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
