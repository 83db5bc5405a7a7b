/* SPDX-License-Identifier: MIT */
/* memory_nopal -- takes memory of the session for ever. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;)
		hostile_turns += (unsigned long)(uintptr_t)nopal_alloc(at.session, 1 << 16);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
