/* SPDX-License-Identifier: MIT */
/* peek_memory -- reads the memory of a process. */
#define _GNU_SOURCE
#include <sys/uio.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	char bytes[8];
	struct iovec here = { bytes, sizeof(bytes) },
		     there = { (void *)&hostile_turns, sizeof(bytes) };

	if (process_vm_readv(1, &here, 1, &there, 1, 0) > 0)
		hostile_escaped("memory");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
