/* SPDX-License-Identifier: MIT */
/* forge_past -- says that its turn has ended, in the past. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	struct nopal_session past = { .now_ns = -1 };

	at.session = &past;
	frames_say(at, FRAMES_DONE, 0, 0, "", 0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
