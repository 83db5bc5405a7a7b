/* SPDX-License-Identifier: MIT */
/* crash_call -- calls nobody. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	void (*volatile nobody)(void) = NULL;

	nobody();
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
