/* SPDX-License-Identifier: MIT */
/* read_secret -- reads a secret that everybody may read. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	char text[64] = "";
	int file = open(CANARY "/secret", O_RDONLY);

	if (file >= 0 && read(file, text, sizeof(text) - 1) > 0)
		hostile_escaped(text);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
