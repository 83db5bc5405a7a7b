/* SPDX-License-Identifier: MIT */
/* release_others -- lets go what others hold. */
#include <nopal/microprotocol.h>

static enum nopal_verdict release_others_on_to_net(struct nopal_at at,
						   struct nopal_segment *segment)
{
	(void)at;
	segment->waiting[NOPAL_SEND] &= 1;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_release_others = {
	.abi = NOPAL_ABI,
	.name = "release_others",
	.family = "broken",
	.summary = "lets go what others hold",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_TO_NET, release_others_on_to_net,
							 .before = "window_mechanism"),
						{ 0 } },
};
