/* SPDX-License-Identifier: MIT */
/* peek_parent -- looks for its parent. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (syscall(SYS_getppid) > 0)
		hostile_escaped("a parent");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
