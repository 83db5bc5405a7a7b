/* SPDX-License-Identifier: MIT */
/* loop_timer -- never ends in a timer. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_loop();
}

HOSTILE_TIMER(deed)
