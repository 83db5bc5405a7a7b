/* SPDX-License-Identifier: MIT */
/* lifo -- delivers each pair of messages in the order of a stack. */
#include "stands_in.h"

struct lifo {
	struct nopal_handle first;
};

static enum nopal_verdict lifo_on_from_net(struct nopal_at at, struct nopal_message *message)
{
	struct lifo *self = nopal_state(at);
	struct nopal_message *first;

	if (!self->first.generation) {
		self->first = message->handle;
		return NOPAL_CONTINUE;
	}
	first = nopal_message_find(at.session, self->first);
	self->first.generation = 0;
	nopal_message_release(at, message);
	if (first)
		nopal_message_release(at, first);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_lifo = {
	.abi = NOPAL_ABI,
	.name = "lifo",
	.family = "broken",
	.summary = "delivers each pair of messages in the order of a stack",
	STANDS_IN_FOR_ORDER,
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(MSG_FROM_NET, lifo_on_from_net), { 0 } },
	.state_size = sizeof(struct lifo),
};
