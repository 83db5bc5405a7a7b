/* SPDX-License-Identifier: MIT */
/*
 * whole_messages -- one segment for each message, which the layer below cuts.
 *
 * Paper:     none; a message that goes to many is kept once, and each session below
 *            cuts it as its path needs.
 * Differs:   not applicable.
 */
#include <nopal/microprotocol.h>

enum { WHOLE_MESSAGES_MAX = 1 << 30 }; /* bytes */

static enum nopal_verdict whole_messages_on_from_user(struct nopal_at at,
						      struct nopal_message *message)
{
	struct nopal_segment *segment =
		nopal_segment_cut(at.session, message, 0, (uint32_t)message->length);

	if (!segment) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no segment could be made of a message");
		return NOPAL_STOP;
	}
	nopal_raise_SEGMENT_FROM_USER(at.session, segment);
	nopal_message_is_cut(at.session, message);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict whole_messages_on_verified(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct nopal_message *message = nopal_message_arriving(at.session, segment);

	if (!message || !nopal_message_put(at.session, message, 0, segment->body)) {
		if (message)
			nopal_message_discard(at.session, message);
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a message that arrived");
		return NOPAL_STOP;
	}
	nopal_raise_MSG_FROM_NET(at.session, message);
	return NOPAL_CONTINUE;
}

static uint64_t whole_messages_limit(const void *parameters, uint32_t body_bytes)
{
	(void)parameters;
	(void)body_bytes;
	return WHOLE_MESSAGES_MAX;
}

const struct nopal_microprotocol nopal_whole_messages = {
	NOPAL_DESCRIBE(whole_messages, base,
		       "one segment for each message, which the layer below cuts"),
	.many = true,
	.provides = NOPAL_ROLES({ "message_segments", true }),
	.needs = NOPAL_RELATIONS({ "layer_below", "a datagram does not hold every message" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_FROM_USER, whole_messages_on_from_user),
				   NOPAL_ON(SEGMENT_VERIFIED, whole_messages_on_verified)),
	.raises = NOPAL_RAISES("SEGMENT_FROM_USER", "MSG_FROM_NET", "SESSION_BROKEN"),
	.message_limit = whole_messages_limit,
};
