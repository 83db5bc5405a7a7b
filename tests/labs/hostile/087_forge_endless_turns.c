/* SPDX-License-Identifier: MIT */
/* forge_endless_turns -- ends its turn for ever, and hears nothing. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	for (;;)
		frames_say(at, FRAMES_DONE, 0, (uint64_t)at.session->now_ns, "", 0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
