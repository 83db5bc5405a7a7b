/* SPDX-License-Identifier: MIT */
/* end_at_once -- ends without a word. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	_exit(0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
