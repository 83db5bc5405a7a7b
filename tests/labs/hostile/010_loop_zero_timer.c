/* SPDX-License-Identifier: MIT */
/* loop_zero_timer -- starts a timer that is due at once, for ever. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	nopal_timer_start(at, HOSTILE_TIMER_OF_DEED, at.session->now_ns);
}

HOSTILE_TIMER(deed)
