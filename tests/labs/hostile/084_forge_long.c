/* SPDX-License-Identifier: MIT */
/* forge_long -- sends a datagram that is longer than the network takes. */
#include "frames.h"

static void deed(struct nopal_at at)
{
	(void)at;
	const struct frames_frame head = { 60000, FRAMES_DATAGRAM, at.session->now_ns, 0, 0 };
	static const char body[60000];

	frames_write(&head, sizeof(head));
	frames_write(body, sizeof(body));
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
