/* SPDX-License-Identifier: MIT */
/* forge_flood_sessions -- claims to open sessions for ever. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (uint64_t number = 1;; number++)
		frames_say(at, FRAMES_STARTED, 0, number, "", 0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
