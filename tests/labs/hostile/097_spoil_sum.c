/* SPDX-License-Identifier: MIT */
/* spoil_sum -- adds more than a number can hold. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	volatile int most = INT32_MAX;

	most = most + 1;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
