/* SPDX-License-Identifier: MIT */
/* forge_future -- says that it will never have anything to do. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	frames_say(at, FRAMES_DONE, 0, INT64_MAX, "", 0);
	hostile_loop();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
