/* SPDX-License-Identifier: MIT */
/* sleep_lock -- waits for a lock that nobody gives back. */
#include <pthread.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
