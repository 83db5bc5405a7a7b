/* SPDX-License-Identifier: MIT */
/* forge_again -- claims a delivery twice. */
#include <nopal/nopal.h>

#include "frames.h"

static enum nopal_verdict again(struct nopal_at at, struct nopal_message *message)
{
	uint8_t bytes[1500];
	uint32_t length = (uint32_t)nopal_message_length(message);

	nopal_message_copy(message, 0, bytes, length);
	frames_say(at, FRAMES_DELIVERED, 0, 0, bytes, length);
	return NOPAL_CONTINUE;
}

HOSTILE_DESCRIPTOR(.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_TO_USER, again)))
