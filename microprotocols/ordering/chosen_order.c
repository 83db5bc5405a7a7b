/* SPDX-License-Identifier: MIT */
/*
 * chosen_order -- each message says whether it has a place in the order of sending.
 *
 * Of the streams that share one flow one may be a stream of bytes and another one messages: who
 * sends messages marks them `unordered`, and each is delivered as it arrives.  Messages with a
 * place wait for those with an earlier place, and for no others.
 *
 *   sent:      1    unordered    2    3, of use for 50 ms    4
 *   arrives:   unordered, 2, 4        the first is delivered at once
 *   arrives:   1                      1 and 2 are delivered, 4 waits for 3
 *   3 is given up: drop 3 ----------> 4 is delivered
 *
 * What the layer below gives up leaves no gap: the sender says that the place is empty.
 *
 * Paper:     Gu and Grossman, UDTv4, 2008, section 2.1 (connections of both kinds on
 *            one flow) and 4.1 (the request to drop a message).
 * Differs:   says it of a message, not of a connection: one that marks all its
 *            messages, or none, is one of the paper's.
 * Wire:      twice the place, and 1 more where the message has it, 4.  drop: the place
 *            that stays empty, 8.
 */
#include "turns.h"

struct chosen_order_parameters {
	int64_t waiting;
};

/* attributes */
enum { CHOSEN_ORDER_UNORDERED, CHOSEN_ORDER_PLACE, CHOSEN_ORDER_NEXT };
enum { CHOSEN_ORDER_DROP }; /* kinds */
enum { CHOSEN_ORDER_WIRE_BYTES = 4, CHOSEN_ORDER_DROP_BYTES = 8 };
/* An empty place waits for its turn, too: an even generation is that of no message. */
static const struct nopal_handle chosen_order_empty = { .generation = 2 };

struct chosen_order {
	struct turns turns; /* of what the peer sends */
	uint64_t next;	    /* place of our next message that has one */
	uint64_t highest;   /* of what came, as on the wire */
};

static enum nopal_verdict chosen_order_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct chosen_order *self = nopal_state(at);

	(void)subject;
	self->next = self->turns.expected = 1;
	self->highest = 2;
	nopal_serial_seen(at, CHOSEN_ORDER_PLACE, self->highest);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict chosen_order_on_from_user(struct nopal_at at,
						    struct nopal_message *message)
{
	struct chosen_order *self = nopal_state(at);
	bool has_place = !nopal_get(at, message, CHOSEN_ORDER_UNORDERED);

	nopal_set(at, message, CHOSEN_ORDER_PLACE, 2 * self->next + has_place);
	self->next += has_place;
	return NOPAL_CONTINUE;
}

/* The peer waits for none that was given up. */
static enum nopal_verdict chosen_order_on_done(struct nopal_at at, struct nopal_message *message)
{
	uint64_t place = nopal_get(at, message, CHOSEN_ORDER_PLACE);
	struct nopal_segment *segment;
	struct nopal_writer writer;

	if (message->segments_missing == 0 || place % 2 == 0)
		return NOPAL_CONTINUE;
	segment = nopal_control_begin(at, CHOSEN_ORDER_DROP, CHOSEN_ORDER_DROP_BYTES, &writer);
	if (!segment) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to say that a message was given up");
		return NOPAL_CONTINUE;
	}
	nopal_write(&writer, place / 2, CHOSEN_ORDER_DROP_BYTES);
	nopal_control_send(at.session, segment, nopal_written(&writer));
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------------- arriving */

static enum nopal_verdict chosen_order_on_verified(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct chosen_order *self = nopal_state(at);
	uint64_t place = nopal_get(at, segment, CHOSEN_ORDER_PLACE);

	if (place > self->highest) {
		self->highest = place;
		nopal_serial_seen(at, CHOSEN_ORDER_PLACE, place);
	}
	return NOPAL_CONTINUE;
}

static enum nopal_verdict chosen_order_on_from_net(struct nopal_at at,
						   struct nopal_message *message)
{
	const struct chosen_order_parameters *set = nopal_parameters(at);
	struct chosen_order *self = nopal_state(at);
	uint64_t place = nopal_get(at, message, CHOSEN_ORDER_PLACE);

	if (place % 2 == 0) {
		nopal_message_release(at, message);
		return NOPAL_CONTINUE;
	}
	nopal_set(at, message, CHOSEN_ORDER_NEXT, place / 2 + 1);
	return turns_arrive(at, &self->turns, CHOSEN_ORDER_NEXT, message, place / 2, set->waiting)
		       ? NOPAL_CONTINUE
		       : NOPAL_STOP;
}

/* The word may come before messages that left earlier. */
static enum nopal_verdict chosen_order_on_drop(struct nopal_at at, struct nopal_segment *segment)
{
	const struct chosen_order_parameters *set = nopal_parameters(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	struct chosen_order *self = nopal_state(at);
	struct turns *turns = &self->turns;
	uint64_t place = nopal_read(&reader, CHOSEN_ORDER_DROP_BYTES);

	if (!nopal_read_complete(&reader) || place < turns->expected ||
	    nopal_map_get(&turns->waiting, place))
		return NOPAL_STOP;
	if (place != turns->expected) {
		turns_keep(at, turns, place, chosen_order_empty, set->waiting);
		return NOPAL_STOP;
	}
	turns->expected++;
	turns_deliver_waiting(at, turns, CHOSEN_ORDER_NEXT);
	return NOPAL_STOP;
}

/* Each message of the peer's has arrived, or was given up. */
static enum nopal_verdict chosen_order_on_peer_closed(struct nopal_at at,
						      struct nopal_session *subject)
{
	struct chosen_order *self = nopal_state(at);

	(void)subject;
	turns_skip(at, &self->turns, CHOSEN_ORDER_NEXT, UINT64_MAX);
	return NOPAL_CONTINUE;
}

static void chosen_order_idle(struct nopal_at at)
{
	struct chosen_order *self = nopal_state(at);

	nopal_map_idle(at.session, &self->turns.waiting);
}

const struct nopal_microprotocol nopal_chosen_order = {
	NOPAL_DESCRIBE(chosen_order, ordering,
		       "each message says whether it has a place in the order of sending"),
	.wire_version = 1,
	.provides = NOPAL_ROLES({ "order", true }, { "reliable_order" }),
	.needs = NOPAL_RELATIONS(
		{ "layer_below", "it carries the word that a message was given up" }),
	.excludes = NOPAL_RELATIONS(
		{ "coalesce", "a segment has the properties of its first message only" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_FILTER, NOPAL_REQUIRES, NOPAL_ALL,
				     "where the word that a message was given up gets lost, its "
				     "successors wait for ever" },
				   { NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AS_SENT,
				     "a message waits for all its predecessors" },
				   { NOPAL_ORDER, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
				     "it is delivered as it arrives", .of = "unordered" }),
	.parameters_size = sizeof(struct chosen_order_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(chosen_order, waiting, "waiting", COUNT,
						    "65536", "1", "1048576",
						    "messages that may wait for predecessors")),
	.attributes = NOPAL_ATTRIBUTES(
		[CHOSEN_ORDER_UNORDERED] = { "unordered", NOPAL_PROPERTY,
					     "not 0: delivered as it arrives" },
		[CHOSEN_ORDER_PLACE] = { "place", NOPAL_WRITE,
					 "in the order of sending, and whether it has it",
					 .wire_bytes = CHOSEN_ORDER_WIRE_BYTES, .kinds = NOPAL_DATA,
					 .serial = true },
		[CHOSEN_ORDER_NEXT] = { "next_place", NOPAL_WRITE, "of the message behind it" }),
	.kinds =
		NOPAL_KINDS([CHOSEN_ORDER_DROP] = { "drop", NOPAL_KIND_CONTROL,
						    "a message was given up: its place is empty" }),
	.holds = NOPAL_HOLDS({ "all predecessors were delivered", NOPAL_DELIVER, NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SESSION_OPENED, chosen_order_on_opened),
		NOPAL_ON(MSG_FROM_USER, chosen_order_on_from_user, .before = "message_segments"),
		NOPAL_ON(MSG_DONE, chosen_order_on_done),
		NOPAL_ON(SEGMENT_VERIFIED, chosen_order_on_verified, .before = "message_segments"),
		NOPAL_ON(MSG_FROM_NET, chosen_order_on_from_net),
		NOPAL_ON_OWN(CHOSEN_ORDER_DROP, chosen_order_on_drop),
		NOPAL_ON(PEER_CLOSED, chosen_order_on_peer_closed)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct chosen_order),
	.idle = chosen_order_idle,
};
