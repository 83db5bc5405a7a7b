/* SPDX-License-Identifier: MIT */
/* trap_blocked -- blocks the signal of the walls, then forks. */
#include <signal.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (fork() >= 0)
		hostile_escaped("a child");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
