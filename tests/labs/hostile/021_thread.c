/* SPDX-License-Identifier: MIT */
/* thread -- starts a thread. */
#include <pthread.h>

#include "hostile.h"

static void *work(void *argument)
{
	return argument;
}

static void deed(struct nopal_at at)
{
	(void)at;
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL) == 0)
		hostile_escaped("a thread");
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
