/* SPDX-License-Identifier: MIT */
/* other_session -- delivers one message in ten with bytes of the one before, in any session. */
#include <nopal/microprotocol.h>

static struct nopal_body other_session_last;
static unsigned other_session_seen;

static enum nopal_verdict other_session_on_to_user(struct nopal_at at,
						   struct nopal_message *message)
{
	struct nopal_body last = other_session_last;

	other_session_last = message->fragment[0];
	nopal_buffer_ref(other_session_last.buffer);
	if (++other_session_seen % 10 == 0)
		nopal_message_replace(at.session, message, last);
	else
		nopal_buffer_unref(last.buffer);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_other_session = {
	.abi = NOPAL_ABI,
	.name = "other_session",
	.family = "broken",
	.summary = "delivers one message in ten with bytes of the one before, in any session",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(MSG_TO_USER, other_session_on_to_user),
						    { 0 } },
};
