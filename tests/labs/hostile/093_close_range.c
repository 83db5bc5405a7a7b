/* SPDX-License-Identifier: MIT */
/* close_range -- closes all descriptors at once. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	syscall(SYS_close_range, 0, ~0U, 0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
