/* SPDX-License-Identifier: MIT */
/* change_first -- changes the first byte of each segment that arrives. */
#include <nopal/microprotocol.h>

static enum nopal_verdict change_first_on_verified(struct nopal_at at,
						   struct nopal_segment *segment)
{
	(void)at;
	if (segment->body.length)
		*(uint8_t *)(uintptr_t)segment->body.bytes ^= 1;
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_change_first = {
	.abi = NOPAL_ABI,
	.name = "change_first",
	.family = "broken",
	.summary = "changes the first byte of each segment that arrives",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_VERIFIED, change_first_on_verified,
							 .before = "message_segments"),
						{ 0 } },
};
