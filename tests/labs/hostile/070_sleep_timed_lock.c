/* SPDX-License-Identifier: MIT */
/* sleep_timed_lock -- waits for a lock, for a while. */
#include <pthread.h>
#include <time.h>

#include "hostile.h"

static void deed(struct nopal_at at)
{
	(void)at;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct timespec until = { .tv_sec = INT32_MAX };

	pthread_mutex_lock(&lock);
	pthread_mutex_timedlock(&lock, &until);
}

HOSTILE_HANDLER(SEGMENT_FROM_NET, struct nopal_segment, deed)
