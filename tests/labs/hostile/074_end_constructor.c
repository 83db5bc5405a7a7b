/* SPDX-License-Identifier: MIT */
/* end_constructor -- ends while it is loaded. */
#include "hostile.h"

__attribute__((constructor)) static void deed(void)
{
	_exit(0);
}

HOSTILE_NOWHERE
