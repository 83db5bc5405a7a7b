/* SPDX-License-Identifier: MIT */
/* file_make -- makes a file. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (open(CANARY "/new", O_CREAT | O_RDWR, 0600) >= 0)
		hostile_escaped("a new file");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
