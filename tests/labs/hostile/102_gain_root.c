/* SPDX-License-Identifier: MIT */
/* gain_root -- becomes root. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (setuid(0) == 0)
		hostile_escaped("root");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
