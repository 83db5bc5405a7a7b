/* SPDX-License-Identifier: MIT */
/* gain_namespace -- makes a namespace. */
#define _GNU_SOURCE
#include <sched.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	if (unshare(CLONE_NEWUSER) == 0)
		hostile_escaped("a namespace");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
