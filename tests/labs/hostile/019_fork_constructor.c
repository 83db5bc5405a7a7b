/* SPDX-License-Identifier: MIT */
/* fork_constructor -- forks before it is loaded. */
#include "hostile.h"

__attribute__((constructor)) static void deed(void)
{
	if (fork() >= 0)
		hostile_escaped("a child");
}

HOSTILE_NOWHERE
