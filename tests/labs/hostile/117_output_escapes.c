/* SPDX-License-Identifier: MIT */
/* output_escapes -- prints commands for terminals where a reason is looked for. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	fputs("SUMMARY: \033[2J\233all passed\377\r\n", stderr);
	abort();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
