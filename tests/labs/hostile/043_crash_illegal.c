/* SPDX-License-Identifier: MIT */
/* crash_illegal -- runs an instruction that does not exist. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
#ifdef __x86_64__
	__asm__ volatile("ud2");
#else
	__asm__ volatile(".inst 0");
#endif
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
