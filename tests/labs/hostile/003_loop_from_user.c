/* SPDX-License-Identifier: MIT */
/* loop_from_user -- never ends with a message of the application. */
#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	hostile_loop();
}

HOSTILE_HANDLER(MSG_FROM_USER, struct nopal_message, deed)
