/* SPDX-License-Identifier: MIT */
/* sleep_alarm -- sets an alarm and waits for it. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	alarm(1000);
	pause();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
