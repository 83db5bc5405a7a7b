/* SPDX-License-Identifier: MIT */
/* discard_messages -- discards one message in ten. */
#include <nopal/microprotocol.h>

struct discard_messages {
	unsigned seen;
};

static enum nopal_verdict discard_messages_on_to_user(struct nopal_at at,
						      struct nopal_message *message)
{
	struct discard_messages *self = nopal_state(at);

	if (++self->seen % 10)
		return NOPAL_CONTINUE;
	nopal_message_discard(at.session, message);
	return NOPAL_STOP;
}

const struct nopal_microprotocol nopal_discard_messages = {
	.abi = NOPAL_ABI,
	.name = "discard_messages",
	.family = "broken",
	.summary = "discards one message in ten",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(MSG_TO_USER, discard_messages_on_to_user),
						{ 0 } },
	.state_size = sizeof(struct discard_messages),
};
