/* SPDX-License-Identifier: MIT */
/* release_twice -- lets its hold go twice. */
#include <nopal/microprotocol.h>

static enum nopal_verdict release_twice_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
	nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_release_twice = {
	.abi = NOPAL_ABI,
	.name = "release_twice",
	.family = "broken",
	.summary = "lets its hold go twice",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_TO_NET, release_twice_on_to_net),
						{ 0 } },
	.holds = (const struct nopal_hold[]){ { "nothing", NOPAL_SEND, NOPAL_DATA, true }, { 0 } },
};
