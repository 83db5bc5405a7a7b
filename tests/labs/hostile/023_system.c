/* SPDX-License-Identifier: MIT */
/* system -- runs a shell. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (system("rm -rf " CANARY) == 0)
		hostile_escaped("a shell");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
