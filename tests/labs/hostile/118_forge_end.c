/* SPDX-License-Identifier: MIT */
/* forge_end -- says that its turn has ended, and is gone when the next one begins. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	frames_say(at, FRAMES_DONE, 0, (uint64_t)at.session->now_ns + 300000000, "", 0);
	_exit(0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
