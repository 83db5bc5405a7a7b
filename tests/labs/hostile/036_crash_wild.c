/* SPDX-License-Identifier: MIT */
/* crash_wild -- writes anywhere. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (uintptr_t at_byte = 1; at_byte; at_byte = at_byte * 6364136223846793005 + 1)
		*(volatile char *)at_byte = 1;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
