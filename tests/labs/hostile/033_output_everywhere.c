/* SPDX-License-Identifier: MIT */
/* output_everywhere -- writes to every descriptor. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	char text[4096];

	memset(text, 'x', sizeof(text));
	for (;;)
		for (int to = 0; to < 64; to++)
			if (write(to, text, sizeof(text)) < 0)
				hostile_turns++;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
