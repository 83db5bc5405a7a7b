/* SPDX-License-Identifier: MIT */
/* forge_flood_datagrams -- claims to send datagrams for ever. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;)
		frames_say(at, FRAMES_DATAGRAM, 1, 0, "0123456789abcdefghij", 20);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
