/* SPDX-License-Identifier: MIT */
/* loop_close -- never ends to close a session. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_loop();
}

HOSTILE_CLOSE(deed)
