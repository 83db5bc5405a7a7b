/* SPDX-License-Identifier: MIT */
/* memory_realloc -- lets one block grow for ever. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	size_t size = 1;
	char *block = NULL, *more;

	while ((more = realloc(block, size *= 2))) {
		block = more;
		hostile_fill(block, size);
	}
	hostile_loop();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
