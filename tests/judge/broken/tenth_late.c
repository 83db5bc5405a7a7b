/* SPDX-License-Identifier: MIT */
/* tenth_late -- delivers one message in ten after the next. */
#include "stands_in.h"

struct tenth_late {
	unsigned seen;
	struct nopal_handle late;
};

static enum nopal_verdict tenth_late_on_from_net(struct nopal_at at, struct nopal_message *message)
{
	struct tenth_late *self = nopal_state(at);
	struct nopal_message *late = NULL;

	if (++self->seen % 10 == 0) {
		self->late = message->handle;
		return NOPAL_CONTINUE;
	}
	nopal_message_release(at, message);
	if (self->late.generation)
		late = nopal_message_find(at.session, self->late);
	self->late.generation = 0;
	if (late)
		nopal_message_release(at, late);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_tenth_late = {
	.abi = NOPAL_ABI,
	.name = "tenth_late",
	.family = "broken",
	.summary = "delivers one message in ten after the next",
	STANDS_IN_FOR_ORDER,
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(MSG_FROM_NET, tenth_late_on_from_net),
						    { 0 } },
	.state_size = sizeof(struct tenth_late),
};
