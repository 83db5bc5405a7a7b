/* SPDX-License-Identifier: MIT */
/* add_tail -- adds a byte to one message in ten. */
#include <string.h>

#include <nopal/microprotocol.h>

struct add_tail {
	unsigned seen;
};

static enum nopal_verdict add_tail_on_to_user(struct nopal_at at, struct nopal_message *message)
{
	struct add_tail *self = nopal_state(at);
	uint32_t length = (uint32_t)message->length, place = 0;
	struct nopal_buffer *buffer = nopal_body_buffer(at.session, length + 1);

	if (!buffer || ++self->seen % 10) {
		nopal_buffer_unref(buffer);
		return NOPAL_CONTINUE;
	}
	for (uint32_t i = 0; i < message->fragments; i++) {
		const struct nopal_body *piece = &message->fragment[i];

		memcpy(buffer->bytes + place, piece->bytes, piece->length);
		place += piece->length;
	}
	buffer->bytes[length] = 0;
	nopal_message_replace(at.session, message,
			      (struct nopal_body){ buffer, buffer->bytes, length + 1 });
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_add_tail = {
	.abi = NOPAL_ABI,
	.name = "add_tail",
	.family = "broken",
	.summary = "adds a byte to one message in ten",
	.bindings =
		(const struct nopal_binding[]){ NOPAL_ON(MSG_TO_USER, add_tail_on_to_user), { 0 } },
	.state_size = sizeof(struct add_tail),
};
