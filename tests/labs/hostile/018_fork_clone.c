/* SPDX-License-Identifier: MIT */
/* fork_clone -- starts a process by a bare system call. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0)
		hostile_escaped("a child");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
