/* SPDX-License-Identifier: MIT */
/*
 * pace.h -- no faster than a rate: when the next bytes are due.
 */
#ifndef NOPAL_PACE_H
#define NOPAL_PACE_H

#include <stdint.h>

struct pace {
	int64_t rate_bps; /* 0: as fast as it goes */
	int64_t from_ns;  /* 0: it has not begun */
	uint64_t from_bytes;
	uint64_t burst_bytes; /* that may be ahead of the rate */
};

void pace_begin(struct pace *pace, int64_t now_ns, uint64_t bytes);
/* How long to wait when `bytes` went so far; 0 or less: not at all. */
int64_t pace_wait_ns(const struct pace *pace, int64_t now_ns, uint64_t bytes);

#endif
