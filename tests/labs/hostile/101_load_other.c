/* SPDX-License-Identifier: MIT */
/* load_other -- loads another shared object. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (dlopen("libcmocka.so.0", RTLD_NOW) || dlopen(CANARY "/file", RTLD_NOW))
		hostile_escaped("an object");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
