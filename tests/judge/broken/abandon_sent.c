/* SPDX-License-Identifier: MIT */
/* abandon_sent -- gives up one segment in four, and calls it arrived. */
#include <nopal/microprotocol.h>

struct abandon_sent {
	unsigned seen;
};

static enum nopal_verdict abandon_sent_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct abandon_sent *self = nopal_state(at);

	if (++self->seen % 4)
		return NOPAL_CONTINUE;
	segment->outcome = NOPAL_OUTCOME_DELIVERED;
	nopal_segment_abandon(at.session, segment);
	return NOPAL_STOP;
}

const struct nopal_microprotocol nopal_abandon_sent = {
	.abi = NOPAL_ABI,
	.name = "abandon_sent",
	.family = "broken",
	.summary = "gives up one segment in four, and calls it arrived",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_TO_NET, abandon_sent_on_to_net,
							     .before = "driver"),
						    { 0 } },
	.state_size = sizeof(struct abandon_sent),
};
