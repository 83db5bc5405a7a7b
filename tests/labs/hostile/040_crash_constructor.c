/* SPDX-License-Identifier: MIT */
/* crash_constructor -- writes to nowhere while it is loaded. */
#include "hostile.h"

static int *volatile nowhere;

__attribute__((constructor)) static void deed(void)
{
	*(volatile int *)nowhere = 1;
}

HOSTILE_NOWHERE
