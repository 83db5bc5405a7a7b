/* SPDX-License-Identifier: MIT */
/* file_remove -- removes a file. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (unlink(CANARY "/file") == 0)
		hostile_escaped("a file is gone");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
