/* SPDX-License-Identifier: MIT */
/*
 * clock.c -- the clocks that a workload is measured by: monotonic, and of the processor.
 */
#include "load/clock.h"

#include <time.h>

#include <nopal/microprotocol.h>

static int64_t clock_read_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t)time.tv_sec * NOPAL_SECOND + time.tv_nsec;
}

int64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

int64_t clock_cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}
