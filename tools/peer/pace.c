/* SPDX-License-Identifier: MIT */
/*
 * pace.c -- no faster than a rate.  Time is reckoned from the beginning, so late wake-ups are made
 * good and the mean is the rate.
 */
#include "peer/pace.h"

enum { PACE_BITS = 8 };
#define PACE_NS_PER_S 1e9

void pace_begin(struct pace *pace, int64_t now_ns, uint64_t bytes)
{
	pace->from_ns = now_ns;
	pace->from_bytes = bytes;
}

int64_t pace_wait_ns(const struct pace *pace, int64_t now_ns, uint64_t bytes)
{
	uint64_t went = bytes - pace->from_bytes;

	if (pace->rate_bps <= 0 || went <= pace->burst_bytes)
		return 0;
	return pace->from_ns - now_ns +
	       (int64_t)((double)(went - pace->burst_bytes) * PACE_BITS * PACE_NS_PER_S /
			 (double)pace->rate_bps);
}
