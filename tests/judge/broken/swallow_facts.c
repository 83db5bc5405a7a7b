/* SPDX-License-Identifier: MIT */
/* swallow_facts -- keeps from others that the peer has a segment. */
#include <nopal/microprotocol.h>

static enum nopal_verdict swallow_facts_on_received(struct nopal_at at,
						    struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	return NOPAL_STOP;
}

const struct nopal_microprotocol nopal_swallow_facts = {
	.abi = NOPAL_ABI,
	.name = "swallow_facts",
	.family = "broken",
	.summary = "keeps from others that the peer has a segment",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_RECEIVED,
							     swallow_facts_on_received,
							     .before = "reliability"),
						    { 0 } },
};
