/* SPDX-License-Identifier: MIT */
/* file_truncate -- empties a file. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (truncate(CANARY "/file", 0) == 0)
		hostile_escaped("a file is empty");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
