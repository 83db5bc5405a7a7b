/* SPDX-License-Identifier: MIT */
/* fork_resolver -- forks while its symbols are resolved. */
#include "hostile.h"

static int one(void)
{
	return 1;
}

static int (*choose(void))(void)
{
	syscall(SYS_clone, 17, 0, 0, 0, 0);
	return one;
}

int chosen(void) __attribute__((ifunc("choose")));

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_turns += (unsigned long)chosen();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
