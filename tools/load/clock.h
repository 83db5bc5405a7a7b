/* SPDX-License-Identifier: MIT */
/*
 * clock.h -- the clocks that a workload is measured by.
 */
#ifndef NOPAL_CLOCK_H
#define NOPAL_CLOCK_H

#include <nopal/nopal.h>

int64_t clock_now_ns(void); /* monotonic */
int64_t clock_cpu_ns(void); /* user and system time of this process */

#endif
