/* SPDX-License-Identifier: MIT */
/* loop_to_net -- never ends with a segment that is to leave. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_loop();
}

HOSTILE_HANDLER(SEGMENT_TO_NET, struct nopal_segment, deed)
