/* SPDX-License-Identifier: MIT */
/*
 * largest_rate.h -- the largest of what was seen in the last ten rounds.
 *
 * Samples of a rate are mostly too small, for whatever held a segment up made them so; the largest
 * is the path's.  Ten rounds are long enough to see a probe for more, and short enough to notice
 * that the path became slower.
 */
#ifndef NOPAL_LARGEST_RATE_H
#define NOPAL_LARGEST_RATE_H

#include <nopal/microprotocol.h>

enum { LARGEST_RATE_ROUNDS = 10 };

struct largest_rate {
	uint64_t by_round_bps[LARGEST_RATE_ROUNDS];
	uint64_t round; /* of the newest entry */
	uint32_t newest;
};

/* A sample of this round, which is never an earlier one than before; returns the largest of all. */
static inline uint64_t largest_rate_keep(struct largest_rate *rates, uint64_t round,
					 uint64_t rate_bps)
{
	uint64_t largest = 0;

	if (rates->round != round) {
		rates->round = round;
		rates->newest = (rates->newest + 1) % LARGEST_RATE_ROUNDS;
		rates->by_round_bps[rates->newest] = 0;
	}
	if (rate_bps > rates->by_round_bps[rates->newest])
		rates->by_round_bps[rates->newest] = rate_bps;
	for (unsigned i = 0; i < LARGEST_RATE_ROUNDS; i++)
		if (rates->by_round_bps[i] > largest)
			largest = rates->by_round_bps[i];
	return largest;
}

#endif
