/* SPDX-License-Identifier: MIT */
/* leak -- takes all memory that it can have. */
#include <nopal/microprotocol.h>

static enum nopal_verdict leak_on_segment(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	while (nopal_alloc(at.session, 4096))
		continue;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_leak = {
	.abi = NOPAL_ABI,
	.name = "leak",
	.family = "broken",
	.summary = "takes all memory that it can have",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_TO_NET, leak_on_segment), { 0 } },
};
