/* SPDX-License-Identifier: MIT */
/* loop_from_net -- never ends with a segment that arrived. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_loop();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
