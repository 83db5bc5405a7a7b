/* SPDX-License-Identifier: MIT */
/* fork_vfork -- starts a process by vfork. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (vfork() == 0)
		_exit(0);
	hostile_escaped("a child");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
