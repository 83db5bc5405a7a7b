/* SPDX-License-Identifier: MIT */
/* forge_delivery -- claims a delivery of bytes that nobody sent. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	frames_say(at, FRAMES_DELIVERED, 0, 0, "0123456789abcdefghij", 20);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
