/* SPDX-License-Identifier: MIT */
/* forge_word -- says a word that nobody knows. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	frames_say(at, (enum frames_word)1000, 0, 0, "", 0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
