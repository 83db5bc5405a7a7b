/* SPDX-License-Identifier: MIT */
/* leave_session -- becomes a daemon. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (setsid() >= 0)
		hostile_escaped("a session");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
