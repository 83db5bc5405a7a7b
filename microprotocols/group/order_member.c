/* SPDX-License-Identifier: MIT */
/*
 * order_member.c -- total_order at a destination: delivers by place, and knows its own messages when
 * they come back.
 *
 * The hub says first which place is the first one here.  What arrives before that, or behind a
 * missing place, waits.
 */
#include "total_order.h"
#include "group_message.h"

/* ------------------------------------------------------------------ own messages */

void nopal__order_member_ask(struct nopal_at at, struct nopal_segment *segment)
{
	struct total_order *self = nopal_state(at);
	uint64_t request = nopal_get(at, segment, TOTAL_ORDER_REQUEST);

	if (request && nopal_map_put(at.session, &self->asked, request,
				     nopal_handle_value(segment->handle)) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to wait for a message's place in the order");
}

static void order_member_release(struct nopal_at at, uint64_t request, bool returned)
{
	struct total_order *self = nopal_state(at);
	const void *waiting = nopal_map_take(&self->asked, request);
	struct nopal_segment *segment =
		waiting ? nopal_segment_find(at.session, nopal_value_handle(waiting)) : NULL;

	if (!segment)
		return;
	nopal_set(at, segment, TOTAL_ORDER_RETURNED, returned);
	if (nopal_holds(at, segment, NOPAL_DONE))
		total_order_done(at, segment);
}

/* It does not get there, or nobody knows. */
void nopal__order_member_give_up(struct nopal_at at, const struct nopal_segment *segment)
{
	uint64_t request = nopal_get(at, segment, TOTAL_ORDER_REQUEST);

	if (request)
		order_member_release(at, request, false);
}

/* The hub has it, and others may, but for all that is known here. */
enum nopal_verdict nopal__order_member_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	if (nopal_get(at, segment, TOTAL_ORDER_REQUEST) &&
	    !nopal_get(at, segment, TOTAL_ORDER_RETURNED) &&
	    segment->outcome == NOPAL_OUTCOME_DELIVERED)
		segment->outcome = NOPAL_OUTCOME_UNKNOWN;
	return NOPAL_CONTINUE;
}

/* Nothing comes back any more. */
enum nopal_verdict nopal__order_member_on_peer_closed(struct nopal_at at,
						      struct nopal_session *subject)
{
	struct total_order *self = nopal_state(at);

	(void)subject;
	self->closed = true;
	for (uint32_t i = 0; self->asked.used && i < self->asked.room;) {
		const struct nopal_map_slot *slot = &self->asked.slots[i];

		if (slot->value)
			order_member_release(at, slot->key, false), i = 0; /* others may move */
		else
			i++;
	}
	return NOPAL_CONTINUE;
}

/* ---------------------------------------------------------------------- delivery */

/* The next place moves before the message does: a delivery may come back to this session. */
static void order_member_deliver(struct nopal_at at, struct nopal_message *message)
{
	struct total_order *self = nopal_state(at);

	nopal_shared_set(at, TOTAL_ORDER_LAST, (int64_t)self->next++);
	if (nopal_get(at, message, TOTAL_ORDER_SENDER) == self->id)
		order_member_release(at, nopal_get(at, message, TOTAL_ORDER_REQUEST), true);
	nopal_message_release(at, message);
}

static void order_member_deliver_early(struct nopal_at at)
{
	struct total_order *self = nopal_state(at);

	while (self->early.used) {
		const void *waiting = nopal_map_take(&self->early, self->next);
		struct nopal_message *message;

		if (!waiting)
			break;
		message = nopal_message_find(at.session, nopal_value_handle(waiting));
		if (message)
			order_member_deliver(at, message);
		else /* it was discarded meanwhile */
			self->next++;
	}
}

enum nopal_verdict nopal__order_member_take(struct nopal_at at, struct nopal_message *message)
{
	const struct total_order_parameters *set = nopal_parameters(at);
	struct total_order *self = nopal_state(at);
	uint64_t place = nopal_get(at, message, TOTAL_ORDER_PLACE);

	if (!place) { /* for this one alone */
		nopal_message_release(at, message);
		return NOPAL_CONTINUE;
	}
	if (place < self->next || nopal_map_get(&self->early, place)) {
		nopal_message_discard(at.session, message);
		return NOPAL_STOP;
	}
	if (place == self->next) {
		order_member_deliver(at, message);
		order_member_deliver_early(at);
	} else if (self->early.used >= set->early ||
		   nopal_map_put(at.session, &self->early, place,
				 nopal_handle_value(message->handle)) < 0) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "too many messages wait for a place before them");
	}
	return NOPAL_CONTINUE;
}

enum nopal_verdict nopal__order_member_on_relay(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_message *message = nopal_is_destination(at.session)
						? group_message_arriving(at.session, segment)
						: NULL;

	if (message)
		nopal_raise_MSG_FROM_NET(at.session, message);
	return NOPAL_CONTINUE;
}

enum nopal_verdict nopal__order_member_on_start(struct nopal_at at, struct nopal_segment *segment)
{
	struct total_order *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t first = nopal_read(&reader, TOTAL_ORDER_PLACE_BYTES);
	uint64_t id = nopal_read(&reader, TOTAL_ORDER_ID_BYTES);

	if (!nopal_read_complete(&reader) || !first || first > INT64_MAX || self->next ||
	    !nopal_is_destination(at.session))
		return NOPAL_CONTINUE;
	self->next = first;
	self->id = id;
	nopal_shared_set(at, TOTAL_ORDER_LAST, (int64_t)first - 1);
	nopal_shared_set(at, TOTAL_ORDER_MEMBER, (int64_t)id);
	order_member_deliver_early(at);
	return NOPAL_CONTINUE;
}
