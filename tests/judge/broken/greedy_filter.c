/* SPDX-License-Identifier: MIT */
/* greedy_filter -- lets in only numbers that are higher than all before. */
#include "stands_in.h"

struct greedy_filter {
	uint64_t next, highest;
};

static enum nopal_verdict greedy_filter_on_from_net(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct greedy_filter *self = nopal_state(at);

	if (nopal_get(at, segment, 0) <= self->highest)
		return NOPAL_STOP;
	self->highest = nopal_get(at, segment, 0);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_greedy_filter = {
	.abi = NOPAL_ABI,
	.name = "greedy_filter",
	.family = "broken",
	.summary = "lets in only numbers that are higher than all before",
	STANDS_IN_FOR_NUMBERS,
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_FROM_USER, numbers_segment),
						    NOPAL_ON(SEGMENT_FROM_NET,
							     greedy_filter_on_from_net),
						    { 0 } },
	.state_size = sizeof(struct greedy_filter),
};
