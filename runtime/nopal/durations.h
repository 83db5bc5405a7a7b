/* SPDX-License-Identifier: MIT */
/*
 * durations.h -- time, which is int64_t nanoseconds everywhere.  Part of nopal.h and
 * microprotocol.h, which include it.
 */
#ifndef NOPAL_DURATIONS_H
#define NOPAL_DURATIONS_H

#include <stdint.h>

#define NOPAL_MICROSECOND INT64_C(1000)
#define NOPAL_MILLISECOND INT64_C(1000000)
#define NOPAL_SECOND	  INT64_C(1000000000)
#define NOPAL_NEVER	  INT64_MAX /* of a time: it does not come */

#endif
