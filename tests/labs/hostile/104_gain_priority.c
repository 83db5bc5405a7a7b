/* SPDX-License-Identifier: MIT */
/* gain_priority -- becomes more important. */
#include <sys/resource.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (setpriority(PRIO_PROCESS, 0, -20) == 0)
		hostile_escaped("a priority");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
