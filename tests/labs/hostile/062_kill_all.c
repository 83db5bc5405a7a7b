/* SPDX-License-Identifier: MIT */
/* kill_all -- kills everybody. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (kill(-1, SIGKILL) == 0)
		hostile_escaped("everybody");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
