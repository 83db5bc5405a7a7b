/* SPDX-License-Identifier: MIT */
/* spoil_code -- makes code of its own. */
#include <sys/mman.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0)
		hostile_escaped("code");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
