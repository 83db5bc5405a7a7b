/* SPDX-License-Identifier: MIT */
/* forge_huge -- says that a frame has four gigabytes. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	const struct frames_frame huge = { UINT32_MAX, FRAMES_READY, 0, 0, 0 };

	frames_write(&huge, sizeof(huge));
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
