/* SPDX-License-Identifier: MIT */
/* file_in_memory -- makes a file in memory. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (syscall(SYS_memfd_create, "x", 0) >= 0)
		hostile_escaped("a file in memory");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
