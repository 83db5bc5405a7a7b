/* SPDX-License-Identifier: MIT */
/*
 * total_order -- what the members of a group send to all comes to all in one order.
 *
 *    member 1 --- a --->          -- 1:a 2:h 3:b --> member 1
 *                         hub
 *    member 2 --- b --->          -- 1:a 2:h 3:b --> member 2        h: the hub's own
 *
 * The hub, which opened the group, is the sequencer.  A message with the property `to_all` goes from
 * a member to the hub, gets the next place there, and comes to all members, its sender among them;
 * so do messages that the hub sends to all.  Each member delivers in the order of places, from the
 * place at which it was added, and the hub delivers where it gives the place.  Messages of the hub
 * have theirs where the application sends them, and are not delivered to it.  A message for one
 * alone has no place: an answer without `to_all`, or one with a `destination`.
 *
 * The outcome of a member's message is known when the message comes back.  A hub that is gone takes
 * the group along: nobody else gives places.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section VII: groups, among the work that
 *            is to come; Chang, Maxemchuk, Reliable broadcast protocols, ACM TOCS 1984;
 *            Kaashoek, Tanenbaum, Group communication in the Amoeba distributed
 *            operating system, ICDCS 1991 (a sequencer).
 * Differs:   the sequencer is the hub of a star of sessions, for life: no election, no
 *            token, and nothing to ask for again, for each session brings all.
 * Wire:      relay: the bytes of a message; start: the first place 8, and the id 4, of a
 *            destination that was added.
 */
#include <errno.h>

#include "group_message.h"
#include "total_order.h"

static bool total_order_is_hub(struct nopal_at at)
{
	return !nopal_is_destination(at.session);
}

static uint64_t total_order_request(struct total_order *self)
{
	self->request += self->request == UINT32_MAX ? 2 : 1; /* 0 is none */
	return self->request;
}

static enum nopal_verdict total_order_on_from_user(struct nopal_at at,
						   struct nopal_message *message)
{
	struct total_order *self = nopal_state(at);
	bool asks = !total_order_is_hub(at) && nopal_get(at, message, TOTAL_ORDER_TO_ALL);

	nopal_set(at, message, TOTAL_ORDER_PLACE, 0);
	nopal_set(at, message, TOTAL_ORDER_SENDER, 0);
	nopal_set(at, message, TOTAL_ORDER_REQUEST, 0);
	if (asks && self->closed) {
		nopal_message_refuse(at.session, message, -EPIPE);
		return NOPAL_STOP;
	}
	if (asks)
		nopal_set(at, message, TOTAL_ORDER_REQUEST, total_order_request(self));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict total_order_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	if (total_order_is_hub(at))
		nopal__order_hub_place(at, segment);
	else
		nopal__order_member_ask(at, segment);
	return NOPAL_CONTINUE;
}

/* Only what wants a place, or is relayed, is waited for.  The order has no gaps: nobody is passed
 * over. */
static enum nopal_verdict total_order_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	if (nopal_get(at, segment, TOTAL_ORDER_PLACE))
		group_message_for_all(at.session);
	if (!nopal_get(at, segment, TOTAL_ORDER_REQUEST) && nopal_holds(at, segment, NOPAL_DONE))
		total_order_done(at, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict total_order_on_copy(struct nopal_at at, struct nopal_copy *copy)
{
	if (copy->segment->kind == nopal_kind(at, TOTAL_ORDER_RELAY))
		nopal__order_hub_over(at, copy->segment);
	else if (!total_order_is_hub(at) && copy->outcome != NOPAL_OUTCOME_DELIVERED)
		nopal__order_member_give_up(at, copy->segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict total_order_on_abandoned(struct nopal_at at,
						   struct nopal_segment *segment)
{
	if (!total_order_is_hub(at))
		nopal__order_member_give_up(at, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict total_order_on_from_net(struct nopal_at at, struct nopal_message *message)
{
	return total_order_is_hub(at) ? nopal__order_hub_take(at, message)
				      : nopal__order_member_take(at, message);
}

static enum nopal_verdict total_order_on_close(struct nopal_at at, struct nopal_session *subject)
{
	struct total_order *self = nopal_state(at);

	(void)subject;
	self->closed = true;
	nopal__order_hub_close(at);
	return NOPAL_CONTINUE;
}

static int total_order_open(struct nopal_at at)
{
	struct total_order *self = nopal_state(at);

	self->first = self->end = 1;
	return 0;
}

static void total_order_idle(struct nopal_at at)
{
	struct total_order *self = nopal_state(at);

	nopal_map_idle(at.session, &self->waiting);
	nopal_map_idle(at.session, &self->early);
	nopal_map_idle(at.session, &self->asked);
}

/* A place is given before the driver lets the segment go; fan_out knows by then who is too slow. */
static const struct nopal_binding total_order_bindings[] = {
	NOPAL_ON(MSG_FROM_USER, total_order_on_from_user, .before = "message_segments"),
	NOPAL_ON(SEGMENT_TO_NET, total_order_on_to_net, .kinds = NOPAL_CARRIED, .before = "driver"),
	NOPAL_ON(SEND_SEGMENT, total_order_on_send, .kinds = NOPAL_CARRIED, .after = "fan_out"),
	NOPAL_ON(MSG_FROM_NET, total_order_on_from_net),
	NOPAL_ON(SEGMENT_DONE, nopal__order_member_on_done),
	NOPAL_ON(SEGMENT_DONE, nopal__order_hub_on_done,
		 .kinds = NOPAL_OWN_KIND + TOTAL_ORDER_RELAY),
	NOPAL_ON(COPIES_LEAVE, nopal__order_hub_on_leave,
		 .kinds = NOPAL_OWN_KIND + TOTAL_ORDER_RELAY),
	NOPAL_ON(COPY_DONE, total_order_on_copy),
	NOPAL_ON(SEGMENT_ABANDONED, total_order_on_abandoned),
	NOPAL_ON(DESTINATION_ADDED, nopal__order_hub_on_added),
	NOPAL_ON(CLOSE_SESSION, total_order_on_close),
	NOPAL_ON(PEER_CLOSED, nopal__order_member_on_peer_closed),
	NOPAL_ON_OWN(TOTAL_ORDER_RELAY, nopal__order_member_on_relay),
	NOPAL_ON_OWN(TOTAL_ORDER_START, nopal__order_member_on_start),
	{ 0 },
};

const struct nopal_microprotocol nopal_total_order = {
	NOPAL_DESCRIBE(total_order, group,
		       "what the members of a group send to all comes to all in one order"),
	.many = true,
	.provides = NOPAL_ROLES({ "order", true }, { "total_order", true }),
	.needs = NOPAL_RELATIONS(
		{ "destinations", "the order is among the members of a group" },
		{ "fan_out", "somebody must count those that have a message of the hub" },
		{ "whole_messages", "a message has one place, and is relayed as one segment" },
		{ "application|streams",
		  "members are told apart here alone, and not in a layer above" }),
	.excludes = NOPAL_RELATIONS(
		{ "compression", "a relay does not tell that it is compressed: compress below" },
		{ "destination_choice",
		  "a message that some do not get leaves a gap in their order" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_DELIVERY, NOPAL_ORDERING, NOPAL_REQUIRES, NOPAL_ALL,
		  "a member waits for each place, and nobody sends again what it misses" },
		{ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AS_SENT,
		  "all deliver what is for all by places, which the hub gives" },
		{ NOPAL_PROGRESS, NOPAL_ORDERING, NOPAL_LOWERS, 0,
		  "a message waits for places that nobody sends again", .unless = NOPAL_DELIVERY,
		  .unless_has = NOPAL_ALL },
		{ NOPAL_PROGRESS, NOPAL_ORDERING, NOPAL_LOWERS, 0,
		  "a message waits for places that a layer below gave up", .amid_partial = true },
		{ NOPAL_DELIVERY, NOPAL_ORDERING, NOPAL_LOWERS, 0,
		  "a message waits for places that a layer below gave up", .amid_partial = true }),
	.parameters_size = sizeof(struct total_order_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(total_order, window, "window", SIZE, "4MiB", "1B", "1024GiB",
			     "relayed messages that not all have yet: others wait for their place"),
		NOPAL_NUMBER(total_order, waiting, "waiting", SIZE, "64MiB", "1kB", "1024GiB",
			     "messages that may wait for a place; who sends more leaves the group"),
		NOPAL_NUMBER(total_order, early, "early", COUNT, "65536", "1", "1048576",
			     "messages that may wait for the places before them, at a member")),
	.attributes = NOPAL_ATTRIBUTES(
		[TOTAL_ORDER_TO_ALL] = { "to_all", NOPAL_PROPERTY,
					 "of a member's message, not 0: for all, in the one order" },
		[TOTAL_ORDER_PLACE] = { "place", NOPAL_PROPERTY,
					"arriving: its place in the order; 0: for this one alone",
					.wire_bytes = TOTAL_ORDER_PLACE_BYTES,
					.kinds = NOPAL_CARRIED },
		[TOTAL_ORDER_SENDER] = { "sender", NOPAL_PROPERTY,
					 "arriving: the member that sent it; 0: the hub",
					 .wire_bytes = TOTAL_ORDER_ID_BYTES,
					 .kinds = NOPAL_CARRIED },
		[TOTAL_ORDER_REQUEST] = { "order_request", NOPAL_WRITE,
					  "counts messages of a member that want a place",
					  .wire_bytes = TOTAL_ORDER_ID_BYTES,
					  .kinds = NOPAL_CARRIED },
		[TOTAL_ORDER_RETURNED] = { "order_returned", NOPAL_WRITE, "it came back" },
		[TOTAL_ORDER_DESTINATION] = { "destination", NOPAL_PROPERTY,
					      "for this one alone; arriving: from whom" },
		[TOTAL_ORDER_ORDERED] = { "ordered", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED([TOTAL_ORDER_LAST] = { "last_place", NOPAL_WRITE, 0,
						      "given by the hub; or delivered" },
			       [TOTAL_ORDER_MEMBER] = { "member_id", NOPAL_WRITE, 0,
							"of this member; 0: the hub" }),
	.kinds = NOPAL_KINDS([TOTAL_ORDER_RELAY] = { "relay", NOPAL_KIND_CARRIED,
						     "a member's message, with its place" },
			     [TOTAL_ORDER_START] = { "start", NOPAL_KIND_CONTROL,
						     "a destination's first place" }),
	.holds = NOPAL_HOLDS({ "it has its place in the order", NOPAL_DELIVER, NOPAL_DATA },
			     { "it has come back, or all have it", NOPAL_DONE, NOPAL_CARRIED }),
	.bindings = total_order_bindings,
	.raises = NOPAL_RAISES("SEGMENT_TO_NET", "MSG_FROM_NET", "SESSION_BROKEN"),
	.state_size = sizeof(struct total_order),
	.open = total_order_open,
	.idle = total_order_idle,
};
