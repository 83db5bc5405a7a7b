/* SPDX-License-Identifier: MIT */
/* kill_group -- kills its process group. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (kill(0, SIGKILL) == 0)
		hostile_escaped("a group");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
