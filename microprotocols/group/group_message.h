/* SPDX-License-Identifier: MIT */
/*
 * group_message.h -- segments of a microprotocol's own that destinations take as messages, in line
 * with those of the application.
 */
#ifndef NOPAL_GROUP_MESSAGE_H
#define NOPAL_GROUP_MESSAGE_H

#include <nopal/microprotocol.h>

/* The message that the segment is, with its body; NULL: no memory, and the session has broken.
 * Whoever called raises MSG_FROM_NET with it. */
static inline struct nopal_message *group_message_arriving(struct nopal_session *session,
							   const struct nopal_segment *segment)
{
	struct nopal_message *message = nopal_message_arriving(session, segment);

	if (message && nopal_message_put(session, message, 0, segment->body))
		return message;
	if (message)
		nopal_message_discard(session, message);
	nopal_session_break(session, NOPAL_RESOURCE, "no room for a message of the group");
	return NULL;
}

/* A destination that is passed over now would miss one of those segments for good: its session
 * ends. */
static inline void group_message_for_all(struct nopal_session *session)
{
	for (uint32_t i = nopal_destination_count(session); i-- > 0;) {
		const struct nopal_destination *one = nopal_destination_at(session, i);

		if (one->paused && !one->removed && !one->ended)
			nopal_destination_break(session, i, NOPAL_RESOURCE,
						"it is too far behind to get all that the "
						"others get");
	}
}

#endif
