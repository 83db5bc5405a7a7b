/* SPDX-License-Identifier: MIT */
/* cut_tail -- cuts the last byte of each segment. */
#include <nopal/microprotocol.h>

static enum nopal_verdict cut_tail_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	if (segment->body.length)
		segment->body.length--;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_cut_tail = {
	.abi = NOPAL_ABI,
	.name = "cut_tail",
	.family = "broken",
	.summary = "cuts the last byte of each segment",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_VERIFIED, cut_tail_on_verified,
							     .before = "message_segments"),
						    { 0 } },
};
