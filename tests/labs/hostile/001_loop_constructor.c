/* SPDX-License-Identifier: MIT */
/* loop_constructor -- never ends to load. */
#include "hostile.h"

__attribute__((constructor)) static void deed(void)
{
	hostile_loop();
}

HOSTILE_NOWHERE
