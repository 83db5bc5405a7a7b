/* SPDX-License-Identifier: MIT */
/* gain_walls -- builds walls of its own. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (syscall(SYS_seccomp, 0, 0, NULL) == 0)
		hostile_escaped("walls");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
