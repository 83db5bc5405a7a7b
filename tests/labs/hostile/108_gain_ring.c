/* SPDX-License-Identifier: MIT */
/* gain_ring -- makes calls by a ring. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (syscall(SYS_io_uring_setup, 1, NULL) >= 0)
		hostile_escaped("a ring");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
