/* SPDX-License-Identifier: MIT */
/*
 * one_body.h -- a message that is the body of one segment, both ways.
 */
#ifndef NOPAL_ONE_BODY_H
#define NOPAL_ONE_BODY_H

#include <nopal/microprotocol.h>

/* Of a message from the application; one that is longer than `max` ends the session. */
static inline enum nopal_verdict one_body_send(struct nopal_session *session,
					       struct nopal_message *message, uint64_t max)
{
	struct nopal_segment *segment = NULL;

	if (message->length <= max)
		segment = nopal_segment_cut(session, message, 0, (uint32_t)message->length);
	if (!segment) {
		nopal_session_break(session, NOPAL_RESOURCE,
				    "no segment could be made of a message");
		return NOPAL_STOP;
	}
	nopal_raise_SEGMENT_FROM_USER(session, segment);
	nopal_message_is_cut(session, message);
	return NOPAL_CONTINUE;
}

/* The message of an arriving segment; NULL: no room. */
static inline struct nopal_message *one_body_arriving(struct nopal_session *session,
						      const struct nopal_segment *segment,
						      struct nopal_body body)
{
	struct nopal_message *message = nopal_message_arriving(session, segment);

	if (message && nopal_message_put(session, message, 0, body))
		return message;
	if (message)
		nopal_message_discard(session, message);
	return NULL;
}

/* Where nobody sends it again, that ends the session. */
static inline enum nopal_verdict one_body_unkept(struct nopal_session *session, bool needed)
{
	if (needed)
		nopal_session_break(session, NOPAL_RESOURCE, "no room for a message that arrived");
	return NOPAL_STOP;
}

#endif
