/* SPDX-License-Identifier: MIT */
/* kill_thread -- kills the thread of another process. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (syscall(SYS_tgkill, 1, 1, SIGKILL) == 0)
		hostile_escaped("a thread");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
