/* SPDX-License-Identifier: MIT */
/* leaky_filter -- numbers segments, and lets each in as often as it comes. */
#include "stands_in.h"

struct leaky_filter {
	uint64_t next;
};

const struct nopal_microprotocol nopal_leaky_filter = {
	.abi = NOPAL_ABI,
	.name = "leaky_filter",
	.family = "broken",
	.summary = "numbers segments, and lets each in as often as it comes",
	STANDS_IN_FOR_NUMBERS,
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_FROM_USER, numbers_segment),
						    { 0 } },
	.state_size = sizeof(struct leaky_filter),
};
