/* SPDX-License-Identifier: MIT */
/* file_mode -- lets nobody read a file. */
#include <sys/stat.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (chmod(CANARY "/file", 0) == 0)
		hostile_escaped("a file has another mode");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
