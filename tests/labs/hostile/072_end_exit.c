/* SPDX-License-Identifier: MIT */
/* end_exit -- ends as if all were well. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	exit(0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
