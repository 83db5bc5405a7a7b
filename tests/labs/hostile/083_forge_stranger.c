/* SPDX-License-Identifier: MIT */
/* forge_stranger -- sends to a host that is not there. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	frames_say(at, FRAMES_DATAGRAM, 60000, 0, "x", 1);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
