/* SPDX-License-Identifier: MIT */
/* forge_flood_deliveries -- claims deliveries for ever. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;)
		frames_say(at, FRAMES_DELIVERED, 0, 0, "0123456789abcdefghij", 20);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
