/* SPDX-License-Identifier: MIT */
/* gain_control -- changes itself. */
#include <sys/prctl.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (prctl(PR_SET_DUMPABLE, 1) == 0)
		hostile_escaped("a change");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
