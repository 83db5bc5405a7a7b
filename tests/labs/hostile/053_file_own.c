/* SPDX-License-Identifier: MIT */
/* file_own -- writes to its own shared object. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	Dl_info info;

	if (dladdr(&hostile_turns, &info) && open(info.dli_fname, O_RDWR) >= 0)
		hostile_escaped("its object");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
