/* SPDX-License-Identifier: MIT */
/* loop_open -- never ends to open a session. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_loop();
}

HOSTILE_OPEN(deed)
