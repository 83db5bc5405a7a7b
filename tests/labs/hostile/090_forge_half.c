/* SPDX-License-Identifier: MIT */
/* forge_half -- says half a frame, and listens. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	const struct frames_frame half = { 1000, FRAMES_DELIVERED, 0, 0, 0 };
	char bytes[4096];

	frames_write(&half, sizeof(half) / 2);
	for (int from = 3; from < 64; from++)
		while (read(from, bytes, sizeof(bytes)) > 0)
			hostile_turns++;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
