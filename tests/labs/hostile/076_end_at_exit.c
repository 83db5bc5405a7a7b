/* SPDX-License-Identifier: MIT */
/* end_at_exit -- forges a delivery at its end. */
#include "frames.h"

static void last(void)
{
	struct nopal_session session = { .now_ns = 0 };
	const struct nopal_at at = { .session = &session };

	frames_say(at, FRAMES_DELIVERED, 0, 0, "x", 1);
}

static void deed(struct nopal_at at)
{
	(void)at;
	atexit(last);
	exit(0);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
