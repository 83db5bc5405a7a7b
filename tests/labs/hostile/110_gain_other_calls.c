/* SPDX-License-Identifier: MIT */
/* gain_other_calls -- makes a call by the numbers of another machine. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
#ifdef __x86_64__
	__asm__ volatile("int $0x80" ::"a"(2) : "memory");
#else
	fork();
#endif
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
