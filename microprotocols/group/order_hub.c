/* SPDX-License-Identifier: MIT */
/*
 * order_hub.c -- total_order where the group was opened: gives places, and relays what members send.
 *
 * A message of a member waits in its deliver barrier for its place.  Then it is delivered here, and
 * leaves for all destinations as a `relay`, its sender's among them.  While relays of `window` bytes
 * are under way, the next ones wait.
 */
#include "total_order.h"
#include "group_message.h"

static void order_hub_advance(struct nopal_at at);

static uint64_t order_hub_bytes(uint64_t length)
{
	return length + TOTAL_ORDER_ITEM_BYTES;
}

static uint64_t order_hub_next_place(struct nopal_at at)
{
	struct total_order *self = nopal_state(at);

	nopal_shared_set(at, TOTAL_ORDER_LAST, (int64_t)++self->given);
	return self->given;
}

/* What the application sends to all, and what another part wants in the order. */
void nopal__order_hub_place(struct nopal_at at, struct nopal_segment *segment)
{
	if (!nopal_is_for_one(at.session, segment) &&
	    (segment->message || nopal_get(at, segment, TOTAL_ORDER_ORDERED)))
		nopal_set(at, segment, TOTAL_ORDER_PLACE, order_hub_next_place(at));
}

/* -------------------------------------------------------------------- relays */

/* The body is that of the message, which may be given back before the relay has arrived. */
static struct nopal_segment *order_hub_relay(struct nopal_at at,
					     const struct nopal_message *message)
{
	struct nopal_segment *relay = nopal_control_bare(at, TOTAL_ORDER_RELAY);

	if (!relay)
		return NULL;
	nopal_buffer_unref(relay->body.buffer);
	relay->body = message->fragment[0];
	nopal_buffer_ref(relay->body.buffer);
	nopal_set(at, relay, TOTAL_ORDER_PLACE, nopal_get(at, message, TOTAL_ORDER_PLACE));
	nopal_set(at, relay, TOTAL_ORDER_SENDER, nopal_get(at, message, TOTAL_ORDER_SENDER));
	nopal_set(at, relay, TOTAL_ORDER_REQUEST, nopal_get(at, message, TOTAL_ORDER_REQUEST));
	return relay;
}

/* Destinations that are too slow for it end before it; and it leaves before it is delivered here,
 * where the application may close the group. */
static void order_hub_pass(struct nopal_at at, struct nopal_message *message)
{
	struct total_order *self = nopal_state(at);
	struct nopal_handle handle = message->handle;
	struct nopal_segment *relay;

	group_message_for_all(at.session);
	nopal_set(at, message, TOTAL_ORDER_PLACE, order_hub_next_place(at));
	relay = order_hub_relay(at, message);
	if (!relay) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to relay a message to the group");
		return;
	}
	self->waiting_bytes -= order_hub_bytes(message->length);
	self->relayed_bytes += order_hub_bytes(message->length);
	nopal_raise_SEGMENT_TO_NET(at.session, relay);
	message = nopal_message_find(at.session, handle);
	if (message)
		nopal_message_release(at, message);
}

static void order_hub_advance(struct nopal_at at)
{
	const struct total_order_parameters *set = nopal_parameters(at);
	struct total_order *self = nopal_state(at);

	if (self->relays)
		return;
	self->relays = true;
	while (self->first < self->end && !self->closed && nopal_session_is_open(at.session) &&
	       self->relayed_bytes < (uint64_t)set->window) {
		const void *waiting = nopal_map_take(&self->waiting, self->first++);
		struct nopal_message *message =
			nopal_message_find(at.session, nopal_value_handle(waiting));

		if (message)
			order_hub_pass(at, message);
	}
	self->relays = false;
}

/* A copy of a relay has its outcome, or there is none. */
void nopal__order_hub_over(struct nopal_at at, struct nopal_segment *segment)
{
	if (!segment->copies && nopal_holds(at, segment, NOPAL_DONE))
		total_order_done(at, segment);
}

enum nopal_verdict nopal__order_hub_on_leave(struct nopal_at at, struct nopal_segment *segment)
{
	nopal__order_hub_over(at, segment);
	return NOPAL_CONTINUE;
}

enum nopal_verdict nopal__order_hub_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	struct total_order *self = nopal_state(at);

	self->relayed_bytes -= order_hub_bytes(segment->body.length);
	order_hub_advance(at);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------- arrivals */

/* False: the message is not kept, and its sender has been shown out. */
static bool order_hub_keep(struct nopal_at at, struct nopal_message *message)
{
	const struct total_order_parameters *set = nopal_parameters(at);
	struct total_order *self = nopal_state(at);
	uint64_t bytes = order_hub_bytes(message->length);
	uint32_t index =
		nopal_destination_find(at.session, nopal_get(at, message, TOTAL_ORDER_DESTINATION));

	if (self->waiting_bytes + bytes <= (uint64_t)set->waiting &&
	    nopal_map_put(at.session, &self->waiting, self->end,
			  nopal_handle_value(message->handle)) == 0) {
		self->waiting_bytes += bytes;
		self->end++;
		return true;
	}
	if (index < nopal_destination_count(at.session))
		nopal_destination_break(at.session, index, NOPAL_RESOURCE,
					"too many messages wait for their place in the order");
	return false;
}

/* Only what its sender wants in the order; whatever else the sender says of a place is not so. */
enum nopal_verdict nopal__order_hub_take(struct nopal_at at, struct nopal_message *message)
{
	const struct total_order *self = nopal_state(at);

	nopal_set(at, message, TOTAL_ORDER_PLACE, 0);
	nopal_set(at, message, TOTAL_ORDER_SENDER, nopal_get(at, message, TOTAL_ORDER_DESTINATION));
	if (!nopal_get(at, message, TOTAL_ORDER_REQUEST)) {
		nopal_message_release(at, message);
		return NOPAL_CONTINUE;
	}
	if (self->closed || !order_hub_keep(at, message)) {
		nopal_message_discard(at.session, message);
		return NOPAL_STOP;
	}
	order_hub_advance(at);
	return NOPAL_CONTINUE;
}

/* What waits then has come too late to be relayed; its sender learns it with the end. */
void nopal__order_hub_close(struct nopal_at at)
{
	struct total_order *self = nopal_state(at);

	while (self->first < self->end) {
		const void *waiting = nopal_map_take(&self->waiting, self->first++);
		struct nopal_message *message =
			nopal_message_find(at.session, nopal_value_handle(waiting));

		if (message)
			nopal_message_discard(at.session, message);
	}
	self->waiting_bytes = 0;
}

/* ---------------------------------------------------------------- destinations */

/* What leaves from now on is for it, too. */
enum nopal_verdict nopal__order_hub_on_added(struct nopal_at at,
					     struct nopal_destination *destination)
{
	const struct total_order *self = nopal_state(at);
	struct nopal_segment *start;
	struct nopal_writer writer;

	if (nopal_is_destination(at.session))
		return NOPAL_CONTINUE;
	start = nopal_control_begin(at, TOTAL_ORDER_START, TOTAL_ORDER_START_BYTES, &writer);
	if (!start) {
		nopal_destination_break(at.session,
					nopal_destination_find(at.session, destination->id),
					NOPAL_RESOURCE, "no room to tell it where it starts");
		return NOPAL_CONTINUE;
	}
	nopal_write(&writer, self->given + 1, TOTAL_ORDER_PLACE_BYTES);
	nopal_write(&writer, destination->id, TOTAL_ORDER_ID_BYTES);
	nopal_set(at, start, TOTAL_ORDER_DESTINATION, destination->id);
	nopal_control_send(at.session, start, nopal_written(&writer));
	return NOPAL_CONTINUE;
}
