/* SPDX-License-Identifier: MIT */
/* loop_to_user -- never ends with a message that is delivered. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_loop();
}

HOSTILE_HANDLER(MSG_TO_USER, struct nopal_message, deed)
