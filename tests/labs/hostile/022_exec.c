/* SPDX-License-Identifier: MIT */
/* exec -- becomes a shell. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	execl("/bin/sh", "sh", "-c", "rm -rf " CANARY, (char *)NULL);
	hostile_turns++;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
