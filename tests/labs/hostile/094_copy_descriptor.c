/* SPDX-License-Identifier: MIT */
/* copy_descriptor -- copies a descriptor. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (dup2(3, 1) >= 0)
		hostile_escaped("a copy");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
