/* SPDX-License-Identifier: MIT */
/* drop_sent -- drops one message in ten before it is cut. */
#include <nopal/microprotocol.h>

struct drop_sent {
	unsigned seen;
};

static enum nopal_verdict drop_sent_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	struct drop_sent *self = nopal_state(at);

	(void)message;
	return ++self->seen % 10 ? NOPAL_CONTINUE : NOPAL_STOP;
}

const struct nopal_microprotocol nopal_drop_sent = {
	.abi = NOPAL_ABI,
	.name = "drop_sent",
	.family = "broken",
	.summary = "drops one message in ten before it is cut",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(MSG_FROM_USER, drop_sent_on_from_user,
							     .before = "message_segments"),
						    { 0 } },
	.state_size = sizeof(struct drop_sent),
};
