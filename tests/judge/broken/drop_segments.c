/* SPDX-License-Identifier: MIT */
/* drop_segments -- drops one segment in ten that the peer was told has come. */
#include <nopal/microprotocol.h>

struct drop_segments {
	unsigned seen;
};

static enum nopal_verdict drop_segments_on_verified(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct drop_segments *self = nopal_state(at);

	(void)segment;
	return ++self->seen % 10 ? NOPAL_CONTINUE : NOPAL_STOP;
}

const struct nopal_microprotocol nopal_drop_segments = {
	.abi = NOPAL_ABI,
	.name = "drop_segments",
	.family = "broken",
	.summary = "drops one segment in ten that the peer was told has come",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_VERIFIED,
							     drop_segments_on_verified,
							     .before = "message_segments"),
						    { 0 } },
	.state_size = sizeof(struct drop_segments),
};
