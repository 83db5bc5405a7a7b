/* SPDX-License-Identifier: MIT */
/* file_link -- makes a link to a file. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (symlink("/etc/passwd", CANARY "/link") == 0)
		hostile_escaped("a link");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
