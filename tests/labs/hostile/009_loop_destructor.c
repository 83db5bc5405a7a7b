/* SPDX-License-Identifier: MIT */
/* loop_destructor -- never ends to unload: a host does not wait for that. */
#include "hostile.h"

__attribute__((destructor)) static void deed(void)
{
	hostile_loop();
}

HOSTILE_NOWHERE
