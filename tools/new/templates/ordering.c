/* SPDX-License-Identifier: MIT */
/*
 * sample -- deliver a message unless one that was sent later was delivered.
 *
 *   arrivals    1  2  4  3  5
 *   deliveries  1  2  4     5      3 came behind its successor and is dropped
 *
 * Each message carries its number.  A message that is early waits for nothing; to have it wait,
 * keep its handle, and release it later (nopal_message_find).
 *
 * Paper:     none.
 */
#include <nopal/microprotocol.h>

enum { SAMPLE_NUMBER }; /* its attributes */

struct sample {
	uint64_t sent; /* messages that the application sent */
	uint64_t next; /* messages with a number below this one come too late */
};

static enum nopal_verdict sample_on_sent(struct nopal_at at, struct nopal_message *message)
{
	struct sample *self = nopal_state(at);

	nopal_set(at, message, SAMPLE_NUMBER, ++self->sent);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict sample_on_arrived(struct nopal_at at, struct nopal_message *message)
{
	struct sample *self = nopal_state(at);
	uint64_t number = nopal_get(at, message, SAMPLE_NUMBER);

	if (number < self->next) {
		nopal_message_discard(at.session, message);
		return NOPAL_STOP;
	}
	nopal_serial_seen(at, SAMPLE_NUMBER, number);
	/* First of all: the application may send or close while the message is delivered. */
	self->next = number + 1;
	nopal_message_release(at, message);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_sample = {
	NOPAL_DESCRIBE(sample, ordering,
		       "deliver a message unless one that was sent later was delivered"),
	.provides = NOPAL_ROLES({ "order", true }),
	.excludes = NOPAL_RELATIONS(
		{ .role = "coalesce", .because = "messages of one segment would have one number" }),
	.promises =
		NOPAL_PROMISES(NOPAL_NUMBERS_ONCE,
			       { NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_FORWARD,
				 .because = "a message goes behind those that were sent before" },
			       { NOPAL_DELIVERY, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_IN_TIME,
				 .because = "a message behind its successors is dropped" }),
	.attributes = NOPAL_ATTRIBUTES([SAMPLE_NUMBER] = { "sample_number", NOPAL_WRITE,
							   "place in the order of sending",
							   .wire_bytes = 4, .kinds = NOPAL_DATA,
							   .serial = true }),
	.holds = NOPAL_HOLDS({ "no message that was sent later was delivered", NOPAL_DELIVER,
			       .kinds = NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, sample_on_sent, .before = "message_segments"),
		NOPAL_ON(MSG_FROM_NET, sample_on_arrived)),
	.state_size = sizeof(struct sample),
};
