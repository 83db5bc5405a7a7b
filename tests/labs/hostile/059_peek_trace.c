/* SPDX-License-Identifier: MIT */
/* peek_trace -- traces a process. */
#include <sys/ptrace.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (ptrace(PTRACE_ATTACH, 1, NULL, NULL) == 0)
		hostile_escaped("a process");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
