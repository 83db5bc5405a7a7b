/* SPDX-License-Identifier: MIT */
/*
 * sequenced_messages -- number every message.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A.
 * Differs:   numbers are 64 bits inside and 32 on the wire; a number before the
 *            first that the peer can have used is dropped.  Among many, a message
 *            for one alone has the number 0, and numbers end with 32 bits.
 */
#include <nopal/microprotocol.h>

enum { SEQUENCED_MESSAGES_NUMBER, SEQUENCED_MESSAGES_DESTINATION };
enum { SEQUENCED_MESSAGES_LOCAL, SEQUENCED_MESSAGES_PEER }; /* shared */
enum { SEQUENCED_MESSAGES_WIRE_BYTES = 4 };

struct sequenced_messages {
	uint64_t next;	  /* number of our next message */
	uint64_t first;	  /* of the peer's first */
	uint64_t highest; /* of the peer, so far */
};

static enum nopal_verdict sequenced_messages_on_opened(struct nopal_at at,
						       struct nopal_session *subject)
{
	struct sequenced_messages *self = nopal_state(at);

	(void)subject;
	self->next = (uint64_t)nopal_shared_get(at, SEQUENCED_MESSAGES_LOCAL);
	self->first = (uint64_t)nopal_shared_get(at, SEQUENCED_MESSAGES_PEER);
	self->highest = self->first;
	nopal_serial_seen(at, SEQUENCED_MESSAGES_NUMBER, self->first);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sequenced_messages_on_from_user(struct nopal_at at,
							  struct nopal_message *message)
{
	struct sequenced_messages *self = nopal_state(at);
	bool many = nopal_has(at, SEQUENCED_MESSAGES_DESTINATION);

	if (many && nopal_is_for_one(at.session, message))
		return NOPAL_CONTINUE;
	if (many && self->next > UINT32_MAX) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "there are no more numbers for messages to "
				    "all: open the group again");
		return NOPAL_STOP;
	}
	nopal_set(at, message, SEQUENCED_MESSAGES_NUMBER, self->next++);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sequenced_messages_on_verified(struct nopal_at at,
							 struct nopal_segment *segment)
{
	struct sequenced_messages *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, SEQUENCED_MESSAGES_NUMBER);

	if (number < self->first)
		return number || !nopal_has(at, SEQUENCED_MESSAGES_DESTINATION) ? NOPAL_STOP
										: NOPAL_CONTINUE;
	if (number > self->highest) {
		self->highest = number;
		nopal_serial_seen(at, SEQUENCED_MESSAGES_NUMBER, number);
	}
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_sequenced_messages = {
	NOPAL_DESCRIBE(sequenced_messages, base, "number every message"),
	.many = true /* of what comes it keeps how far numbers are at all */,
	.provides = NOPAL_ROLES({ "message_numbers", true }),
	.standard = "message_numbers",
	.attributes = NOPAL_ATTRIBUTES(
		[SEQUENCED_MESSAGES_NUMBER] = { "message_number", NOPAL_WRITE,
						"counts messages of a direction",
						.wire_bytes = SEQUENCED_MESSAGES_WIRE_BYTES,
						.kinds = NOPAL_DATA, .serial = true },
		[SEQUENCED_MESSAGES_DESTINATION] = { "destination", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED([SEQUENCED_MESSAGES_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL,
							      1, "our first number" },
			       [SEQUENCED_MESSAGES_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
							     "the peer's first number" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SESSION_OPENED, sequenced_messages_on_opened),
				   NOPAL_ON(MSG_FROM_USER, sequenced_messages_on_from_user,
					    .before = "message_segments"),
				   NOPAL_ON(SEGMENT_VERIFIED, sequenced_messages_on_verified,
					    .before = "message_segments")),
	.state_size = sizeof(struct sequenced_messages),
};
