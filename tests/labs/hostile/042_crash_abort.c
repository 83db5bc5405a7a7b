/* SPDX-License-Identifier: MIT */
/* crash_abort -- gives up. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	abort();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
