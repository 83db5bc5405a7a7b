/* SPDX-License-Identifier: MIT */
/* close_all -- closes all descriptors, and lives on. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (int one = 0; one < 64; one++)
		close(one);
	hostile_loop();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
