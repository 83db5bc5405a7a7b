/* SPDX-License-Identifier: MIT */
/* output_stderr -- writes a gigabyte of errors. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (int i = 0; i < 1 << 24; i++)
		fputs("sixty four bytes, sixty four bytes, sixty four bytes, sixty fou\n", stderr);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
