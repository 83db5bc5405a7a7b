/* SPDX-License-Identifier: MIT */
/* sleep_read -- reads what is said to the host, without end. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	char bytes[4096];

	for (int from = 3; from < 64; from++)
		while (read(from, bytes, sizeof(bytes)) > 0)
			hostile_turns++;
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
