/* SPDX-License-Identifier: MIT */
/* file_rename -- renames a file. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (rename(CANARY "/file", CANARY "/other") == 0)
		hostile_escaped("a file has another name");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
