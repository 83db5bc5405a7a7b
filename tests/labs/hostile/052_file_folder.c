/* SPDX-License-Identifier: MIT */
/* file_folder -- makes a folder. */
#include <sys/stat.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (mkdir(CANARY "/folder", 0777) == 0)
		hostile_escaped("a folder");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
