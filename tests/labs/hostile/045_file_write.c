/* SPDX-License-Identifier: MIT */
/* file_write -- writes to a file that everybody may write. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (open(CANARY "/file", O_WRONLY) >= 0)
		hostile_escaped("a file to write");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
