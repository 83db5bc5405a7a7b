/* SPDX-License-Identifier: MIT */
/* redeliver -- delivers one message in ten once more. */
#include <nopal/microprotocol.h>

struct redeliver {
	unsigned seen;
};

static enum nopal_verdict redeliver_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	struct redeliver *self = nopal_state(at);
	struct nopal_message *again;

	if (++self->seen % 10)
		return NOPAL_CONTINUE;
	again = nopal_message_arriving(at.session, segment);
	if (again && nopal_message_put(at.session, again, 0, segment->body))
		nopal_raise_MSG_FROM_NET(at.session, again);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_redeliver = {
	.abi = NOPAL_ABI,
	.name = "redeliver",
	.family = "broken",
	.summary = "delivers one message in ten once more",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(SEGMENT_VERIFIED, redeliver_on_verified,
							 .after = "message_segments"),
						{ 0 } },
	.state_size = sizeof(struct redeliver),
};
