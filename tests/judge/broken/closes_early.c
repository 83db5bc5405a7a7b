/* SPDX-License-Identifier: MIT */
/* closes_early -- ends the session in good order while messages wait. */
#include <nopal/microprotocol.h>

struct closes_early {
	unsigned seen;
};

static enum nopal_verdict closes_early_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct closes_early *self = nopal_state(at);

	(void)segment;
	if (++self->seen == 20)
		nopal_session_closed(at.session);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_closes_early = {
	.abi = NOPAL_ABI,
	.name = "closes_early",
	.family = "broken",
	.summary = "ends the session in good order while messages wait",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEND_SEGMENT, closes_early_on_send),
						    { 0 } },
	.state_size = sizeof(struct closes_early),
};
