/* SPDX-License-Identifier: MIT */
/*
 * send.c -- what the application sends: refused, waiting for the session to open, or on its way;
 * and what it says of a message, its properties.
 */
#include <errno.h>
#include <string.h>

#include "session/send.h"
#include "engine/ring.h"
#include "engine/message.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "session/stack.h"

/* ----------------------------------------------------------- on its way down */

static void send_count(struct nopal_composite *composite, uint64_t length)
{
	composite->awake->unfinished++;
	composite->awake->unfinished_bytes += length;
	composite->awake->counters.messages_sent++;
	composite->awake->counters.bytes_sent += length;
}

static void send_undo(struct nopal_composite *composite, struct nopal_message *message)
{
	if (message->is_unsent)
		nopal__message_unsent_no_more(composite, message);
	composite->awake->unfinished--;
	composite->awake->unfinished_bytes -= message->length;
	composite->awake->counters.messages_sent--;
	composite->awake->counters.bytes_sent -= message->length;
}

/* MSG_FROM_USER, where a handler may refuse the message.  `late`: whoever sent it was told that all
 * is well, and learns otherwise by its outcome. */
static int send_from_user(struct nopal_composite *composite, struct nopal_message *message,
			  bool late)
{
	int refused;

	message->pins++;
	nopal_raise_MSG_FROM_USER(&composite->session, message);
	refused = message->refused;
	if (refused)
		message->settled = true;
	if (refused && late)
		nopal__message_tell_outcome(composite, message, NOPAL_OUTCOME_LOST);
	else if (refused)
		send_undo(composite, message);
	nopal__message_unpin(composite, message);
	return refused;
}

void nopal_message_refuse(struct nopal_session *session, struct nopal_message *message, int error)
{
	(void)session;
	message->refused = error;
}

static int send_when_open(struct nopal_composite *composite, struct nopal_message *message)
{
	struct nopal_awake *awake = composite->awake;
	uint32_t first = 0;

	if (awake->waiting_open_count == awake->waiting_open_room &&
	    !nopal__ring_grow(&composite->session, &awake->waiting_open, &first,
			      &awake->waiting_open_room, sizeof(*awake->waiting_open)))
		return -ENOMEM;
	awake->waiting_open[awake->waiting_open_count++] = message->handle;
	return 0;
}

/* It came in the request to open. */
static void is_there(struct nopal_composite *composite, struct nopal_message *message)
{
	message->settled = true;
	message->pins++;
	nopal__message_tell_outcome(composite, message, NOPAL_OUTCOME_DELIVERED);
	nopal__message_unpin(composite, message);
}

void nopal__messages_flush_opened(struct nopal_composite *composite)
{
	struct nopal_handle *waiting = composite->awake->waiting_open;
	uint32_t count = composite->awake->waiting_open_count;

	composite->awake->waiting_open = NULL;
	composite->awake->waiting_open_count = composite->awake->waiting_open_room = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct nopal_message *message = nopal_message_find(&composite->session, waiting[i]);

		if (message && message->early)
			is_there(composite, message);
		else if (message)
			send_from_user(composite, message, true);
	}
	nopal_free(&composite->session, waiting);
}

/* An empty buffer takes a message of any length. */
bool nopal__send_has_room(const struct nopal_awake *awake, uint64_t length)
{
	const struct nopal_budget *budget = &awake->budget;

	if (awake->unfinished && awake->unfinished_bytes + length > awake->send_limit)
		return false;
	if (!awake->unsent)
		return true;
	return (!budget->unsent_messages || awake->unsent < budget->unsent_messages) &&
	       (!budget->unsent_bytes || awake->unsent_bytes + length <= budget->unsent_bytes);
}

static int send_refusal(struct nopal_composite *composite, uint64_t length)
{
	if (!nopal__be_awake(composite) ||
	    (composite->life != NOPAL_LIFE_OPENING && composite->life != NOPAL_LIFE_OPEN))
		return -EPIPE;
	if (length > nopal__plan(composite)->info.message_limit)
		return -EMSGSIZE;
	if (length < nopal__plan(composite)->info.message_min)
		return -EINVAL;
	if (!nopal__send_has_room(composite->awake, length)) {
		composite->send_blocked = true;
		composite->awake->send_refused = length;
		return -EAGAIN;
	}
	return 0;
}

/* Copies the attributes and the kind of a segment of the layer above. */
static void take_attributes(const struct nopal_composite *composite, uint64_t *attribute,
			    const struct nopal_segment *from)
{
	const struct nopal_plan *plan = nopal__plan(composite);

	memcpy(attribute, from->attribute, plan->slot_count * sizeof(uint64_t));
	attribute[nopal__layer(composite)->above_kind_slot] = from->kind;
}

static void send_put_properties(struct nopal_message *message,
				const struct nopal_outgoing *outgoing)
{
	for (size_t i = 0; i < outgoing->property_count; i++) {
		const struct nopal_property *property = &outgoing->properties[i];

		if (property->which == NOPAL_URGENT)
			message->urgent = property->value != 0;
		else if (property->which)
			message->attribute[property->which] = property->value;
	}
}

/* Takes over the reference in `body`; one of `from` and `outgoing` is NULL. */
static int send_message(struct nopal_composite *composite, struct nopal_body body,
			const struct nopal_segment *from, const struct nopal_outgoing *outgoing)
{
	struct nopal_message *message = nopal__message_make(composite, body.length);

	if (!message) {
		nopal_buffer_unref(body.buffer);
		return -ENOBUFS;
	}
	message->one = body;
	message->fragments = 1;
	if (from) {
		message->above = from->handle;
		take_attributes(composite, message->attribute, from);
		message->urgent = from->urgent;
	}
	if (outgoing) {
		message->cookie = outgoing->cookie;
		send_put_properties(message, outgoing);
	}
	send_count(composite, message->length);
	if (composite->world->counts_unsent) {
		message->is_unsent = true;
		message->unsent = message->length;
		composite->awake->unsent++;
		composite->awake->unsent_bytes += message->length;
	}
	if (composite->life != NOPAL_LIFE_OPENING)
		return send_from_user(composite, message, false);
	if (send_when_open(composite, message) == 0)
		return 0;
	send_undo(composite, message);
	nopal__message_free(composite, message);
	return -ENOBUFS;
}

static bool send_knows_properties(const struct nopal_composite *composite,
				  const struct nopal_outgoing *outgoing)
{
	for (size_t i = 0; i < outgoing->property_count; i++)
		if (outgoing->properties[i].which != NOPAL_URGENT &&
		    outgoing->properties[i].which >= nopal__plan(composite)->slot_count)
			return false;
	return true;
}

/* A reference to the buffer given, or a copy of the bytes; the buffer is NULL where there is no
 * memory. */
static struct nopal_body send_body(const struct nopal_outgoing *outgoing)
{
	uint32_t length = (uint32_t)outgoing->length;
	struct nopal_buffer *buffer = outgoing->buffer;

	if (buffer)
		return (struct nopal_body){ nopal_buffer_ref(buffer),
					    buffer->bytes + outgoing->from, length };
	buffer = nopal_buffer_new(length);
	if (!buffer)
		return (struct nopal_body){ 0 };
	if (length)
		memcpy(buffer->bytes, outgoing->bytes, length);
	return (struct nopal_body){ buffer, buffer->bytes, length };
}

int nopal_send_message(struct nopal_session *session, const struct nopal_outgoing *outgoing)
{
	struct nopal_composite *composite = nopal__composite(session);
	int refusal = send_refusal(composite, outgoing->length);
	struct nopal_body body;
	bool outermost;

	if (refusal)
		return refusal;
	if (!send_knows_properties(composite, outgoing))
		return -EINVAL;
	body = send_body(outgoing);
	if (!body.buffer)
		return -ENOBUFS;
	outermost = nopal__turn_begin(composite->world);
	nopal__touch(composite);
	refusal = send_message(composite, body, NULL, outgoing);
	nopal__turn_end(composite->world, outermost);
	return refusal;
}

int nopal__message_from_above(struct nopal_composite *composite, const struct nopal_segment *from)
{
	struct nopal_body body = from->body;

	nopal_buffer_ref(body.buffer);
	return send_message(composite, body, from, NULL);
}

/* Its bytes are charged to the layer above, where they are. */
int nopal__segment_from_above(struct nopal_composite *composite, const struct nopal_segment *from)
{
	struct nopal_segment *segment = nopal__segment_make_carried(composite, NOPAL_KIND_DATA);

	if (!segment)
		return -ENOBUFS;
	segment->above = from->handle;
	segment->urgent = from->urgent;
	segment->body = from->body;
	nopal_buffer_ref(segment->body.buffer);
	take_attributes(composite, segment->attribute, from);
	send_count(composite, segment->body.length);
	nopal_raise_SEGMENT_FROM_USER(&composite->session, segment);
	return 0;
}

void nopal__segment_take(struct nopal_composite *composite, struct nopal_composite *above,
			 struct nopal_segment *segment)
{
	struct nopal_handle message = segment->message->handle;

	nopal__record(above, NOPAL_TRACED_FREE, UINT8_MAX, 0, segment->number, 0);
	segment->handle =
		nopal__pool_move(&above->awake->segments, &composite->awake->segments, segment);
	segment->above = message;
	segment->taken = true;
	segment->below = false;
	segment->message = NULL;
	segment->number = ++composite->awake->numbered;
	segment->created_ns = composite->session.now_ns;
	segment->packet_number = 0;
	segment->transmitted_ns = -1;
	segment->transmissions = 0;
	segment->pins = 0;
	segment->attribute[nopal__layer(composite)->above_kind_slot] = segment->kind;
	nopal__segment_hold(composite, segment);
	send_count(composite, segment->body.length);
	nopal_raise_SEGMENT_FROM_USER(&composite->session, segment);
}

uint64_t nopal_session_send_room(const struct nopal_session *session)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_awake *awake;
	uint64_t room;

	if (!nopal__be_awake(composite))
		return 0;
	awake = composite->awake;
	if (awake->unfinished_bytes >= awake->send_limit || !nopal__send_has_room(awake, 0))
		return 0;
	room = awake->send_limit - awake->unfinished_bytes;
	if (awake->budget.unsent_bytes && awake->budget.unsent_bytes - awake->unsent_bytes < room)
		room = awake->budget.unsent_bytes - awake->unsent_bytes;
	return room;
}

void nopal_send_limit_set(struct nopal_session *session, uint64_t bytes)
{
	struct nopal_awake *awake = nopal__composite(session)->awake;

	awake->send_wanted = bytes;
	nopal__send_limit(awake);
}

/* --------------------------------------------------------------- properties */

uint64_t nopal_message_property(const struct nopal_message *message, unsigned which)
{
	return which == NOPAL_URGENT ? message->urgent : message->attribute[which];
}
