/* SPDX-License-Identifier: MIT */
/* loop_cycles -- waits by counting cycles of the processor. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
#ifdef __x86_64__
	for (uint64_t until = __builtin_ia32_rdtsc() + (UINT64_C(1) << 44);
	     __builtin_ia32_rdtsc() < until;)
#endif
		hostile_loop();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
