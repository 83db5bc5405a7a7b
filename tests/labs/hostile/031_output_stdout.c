/* SPDX-License-Identifier: MIT */
/* output_stdout -- writes a gigabyte. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (int i = 0; i < 1 << 24; i++)
		puts("sixty four bytes, sixty four bytes, sixty four bytes, sixty fou");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
