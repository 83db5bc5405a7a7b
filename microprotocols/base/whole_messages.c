/* SPDX-License-Identifier: MIT */
/*
 * whole_messages -- one segment for each message, which the layer below cuts.
 *
 * Paper:     none; a message that goes to many is kept once, and each session below
 *            cuts it as its path needs.
 * Differs:   not applicable.
 */
#include "one_body.h"

enum { WHOLE_MESSAGES_MAX = 1 << 30 }; /* bytes */

static enum nopal_verdict whole_messages_on_from_user(struct nopal_at at,
						      struct nopal_message *message)
{
	return one_body_send(at.session, message, WHOLE_MESSAGES_MAX);
}

static enum nopal_verdict whole_messages_on_verified(struct nopal_at at,
						     struct nopal_segment *segment)
{
	struct nopal_message *message = one_body_arriving(at.session, segment, segment->body);

	if (!message)
		return one_body_unkept(at.session, true);
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
