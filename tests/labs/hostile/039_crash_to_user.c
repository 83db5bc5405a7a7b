/* SPDX-License-Identifier: MIT */
/* crash_to_user -- writes to nowhere while a message is delivered. */
#include "hostile.h"

static int *volatile nowhere;

static void deed(struct nopal_at at)
{
	(void)at;
	*(volatile int *)nowhere = 1;
}

HOSTILE_HANDLER(MSG_TO_USER, struct nopal_message, deed)
