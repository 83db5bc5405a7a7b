/* SPDX-License-Identifier: MIT */
/* swallow_acks -- stops acknowledgements on their way in. */
#include <nopal/microprotocol.h>

static enum nopal_verdict swallow_acks_on_from_net(struct nopal_at at,
						   struct nopal_segment *segment)
{
	(void)at;
	return segment->kind ? NOPAL_STOP : NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_swallow_acks = {
	.abi = NOPAL_ABI,
	.name = "swallow_acks",
	.family = "broken",
	.summary = "stops acknowledgements on their way in",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_FROM_NET, swallow_acks_on_from_net,
							 .kinds = NOPAL_EVERY_KIND,
							 .before = "acknowledgement",
							 .after = "connection"),
						{ 0 } },
};
