/* SPDX-License-Identifier: MIT */
/* spoil_text -- overwrites Nopal's code. */
#include <sys/mman.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	uintptr_t page = (uintptr_t)nopal_timer_start & ~(uintptr_t)4095;

	if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		hostile_escaped("code");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
