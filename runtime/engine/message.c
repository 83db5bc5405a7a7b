/* SPDX-License-Identifier: MIT */
/*
 * message.c -- messages down (cut, settled) and up (put together, held, delivered, given back).
 */
#include <string.h>

#include "engine/message.h"
#include "engine/memory.h"
#include "engine/turn.h"

enum {
	FRAGMENTS_AT_FIRST = 64, /* what 64 KiB take */
	SPARE_FRAGMENTS = 64,	 /* as many messages at once reuse them */
};

struct nopal_message *nopal_message_find(struct nopal_session *session, struct nopal_handle handle)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_message *message = nopal__pool_find(&composite->awake->messages, handle);

	if (!message)
		composite->awake->counters.stale_handles++;
	return message;
}

bool nopal_message_is_like(const struct nopal_session *session, const struct nopal_message *one,
			   const struct nopal_message *other)
{
	uint64_t said = nopal__plan(nopal__composite(session))->properties;

	if (one->urgent != other->urgent)
		return false;
	for (; said; said &= said - 1) {
		int slot = __builtin_ctzll(said);

		if (one->attribute[slot] != other->attribute[slot])
			return false;
	}
	return true;
}

struct nopal_message *nopal__message_make(struct nopal_composite *composite, uint64_t length)
{
	struct nopal_message *message;

	if (composite->awake->segments.alive + composite->awake->messages.alive >=
		    composite->awake->budget.objects ||
	    !nopal__charge(composite, length))
		return NULL;
	message = nopal__pool_take(&composite->awake->messages);
	if (!message) {
		nopal__credit(composite, length);
		return NULL;
	}
	*message = (struct nopal_message){
		.handle = nopal__pool_handle(message),
		.number = ++composite->awake->numbered,
		.created_ns = composite->session.now_ns,
		.length = length,
	};
	message->fragment = &message->one;
	message->fragments_room = 1;
	memset(message->attribute, 0, nopal__plan(composite)->slot_count * sizeof(uint64_t));
	return message;
}

/* Room for fragments is kept and used again by the next long message: a list through the first body
 * of each, whose length is its room. */
static void fragments_free(struct nopal_composite *composite, struct nopal_message *message)
{
	struct nopal_body *spare = message->fragment;

	if (spare == &message->one)
		return;
	if (composite->awake->spare_count == SPARE_FRAGMENTS) {
		nopal_free(&composite->session, spare);
		return;
	}
	*spare = (struct nopal_body){
		.bytes = (const uint8_t *)composite->awake->spare_fragments,
		.length = message->fragments_room,
	};
	composite->awake->spare_fragments = spare;
	composite->awake->spare_count++;
}

void nopal__fragments_give_back(struct nopal_composite *composite)
{
	while (composite->awake->spare_fragments) {
		struct nopal_body *spare = composite->awake->spare_fragments;

		composite->awake->spare_fragments = (struct nopal_body *)(uintptr_t)spare->bytes;
		nopal_free(&composite->session, spare);
	}
	composite->awake->spare_count = 0;
}

void nopal__message_free(struct nopal_composite *composite, struct nopal_message *message)
{
	for (uint32_t i = 0; i < message->fragments_room; i++)
		nopal_buffer_unref(message->fragment[i].buffer);
	fragments_free(composite, message);
	nopal__credit(composite, message->length);
	nopal__pool_give(&composite->awake->messages, message);
}

void nopal__message_unpin(struct nopal_composite *composite, struct nopal_message *message)
{
	if (--message->pins == 0 && message->settled && !message->kept && !message->waiting)
		nopal__message_free(composite, message);
}

/* -------------------------------------------------------------------- down */

/* Bytes that a part put around those of the messages leave with the last of them. */
void nopal__messages_left(struct nopal_composite *composite, struct nopal_message *message,
			  uint64_t bytes)
{
	for (; message; message = message->also) {
		uint64_t here = bytes < message->unsent ? bytes : message->unsent;

		bytes -= here;
		message->unsent -= here;
		composite->awake->unsent_bytes -= here;
		if (message->unsent || !message->is_unsent)
			continue;
		message->is_unsent = false;
		composite->awake->unsent--;
		if (message->above.generation)
			nopal__up(composite)->left(composite, message->attribute, message->above,
						   NULL);
	}
}

void nopal__segment_left(struct nopal_composite *composite, struct nopal_segment *segment)
{
	if (segment->left)
		return;
	segment->left = true;
	if (!segment->above.generation)
		nopal__messages_left(composite, segment->message, segment->body.length);
	else
		nopal__up(composite)->left(composite, segment->attribute, segment->above,
					   segment->taken ? segment : NULL);
}

/* A message has arrived when all its segments have. */
enum nopal_outcome nopal__message_outcome(const struct nopal_message *message)
{
	if (message->segments_missing)
		return message->expired ? NOPAL_OUTCOME_EXPIRED : NOPAL_OUTCOME_LOST;
	if (message->segments_unknown)
		return message->uncertain ? NOPAL_OUTCOME_UNKNOWN : NOPAL_OUTCOME_WAIVED;
	return message->segments_arrived ? NOPAL_OUTCOME_DELIVERED : NOPAL_OUTCOME_UNKNOWN;
}

/* As applications are told it. */
static enum nopal_outcome plain(enum nopal_outcome outcome)
{
	if (outcome == NOPAL_OUTCOME_EXPIRED)
		return NOPAL_OUTCOME_LOST;
	return outcome == NOPAL_OUTCOME_WAIVED ? NOPAL_OUTCOME_UNKNOWN : outcome;
}

static void count_outcome(struct nopal_composite *composite, enum nopal_outcome outcome,
			  uint64_t length)
{
	if (outcome == NOPAL_OUTCOME_DELIVERED)
		composite->awake->counters.messages_arrived++;
	else if (plain(outcome) == NOPAL_OUTCOME_LOST)
		composite->awake->counters.messages_missing++;
	composite->awake->unfinished--;
	composite->awake->unfinished_bytes -= length;
}

void nopal__message_tell_outcome(struct nopal_composite *composite, struct nopal_message *message,
				 enum nopal_outcome outcome)
{
	if (message->is_unsent)
		nopal__message_unsent_no_more(composite, message);
	count_outcome(composite, outcome, message->length);
	nopal__up(composite)->outcome(composite, message, outcome);
	if (composite->life == NOPAL_LIFE_DRAINING)
		nopal__session_ops.drained(composite);
}

void nopal__segment_tell_outcome(struct nopal_composite *composite,
				 const struct nopal_segment *segment)
{
	count_outcome(composite, segment->outcome, segment->body.length);
	nopal__up(composite)->segment_outcome(composite, segment);
	if (composite->life == NOPAL_LIFE_DRAINING)
		nopal__session_ops.drained(composite);
}

static void message_settle(struct nopal_composite *composite, struct nopal_message *message)
{
	if (!message->cut || message->segments_open || message->settled)
		return;
	message->settled = true;
	message->pins++;
	nopal_raise_MSG_DONE(&composite->session, message);
	nopal__message_tell_outcome(composite, message, nopal__message_outcome(message));
	nopal__message_unpin(composite, message);
}

void nopal__messages_segment_done(struct nopal_composite *composite, struct nopal_message *message,
				  enum nopal_outcome outcome)
{
	while (message) {
		struct nopal_message *also = message->also;

		message->segments_open--;
		if (outcome == NOPAL_OUTCOME_DELIVERED) {
			message->segments_arrived++;
		} else {
			if (plain(outcome) == NOPAL_OUTCOME_LOST)
				message->segments_missing++;
			else
				message->segments_unknown++;
			message->expired |= outcome == NOPAL_OUTCOME_EXPIRED;
			message->uncertain |= outcome == NOPAL_OUTCOME_UNKNOWN;
		}
		message_settle(composite, message);
		message = also;
	}
}

void nopal_message_is_cut(struct nopal_session *session, struct nopal_message *message)
{
	message->cut = true;
	message_settle(nopal__composite(session), message);
}

/* ---------------------------------------------------------------------- up */

struct nopal_message *nopal_message_arriving(struct nopal_session *session,
					     const struct nopal_segment *first)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_message *message = nopal__message_make(composite, 0);

	if (!message) {
		composite->awake->counters.rx_over_budget++;
		return NULL;
	}
	message->incoming = true;
	message->waiting = nopal__layer(composite)->deliver;
	memcpy(message->attribute, first->attribute,
	       nopal__plan(composite)->slot_count * sizeof(uint64_t));
	if (message->waiting)
		nopal__record(composite, NOPAL_TRACED_HOLD, UINT8_MAX, NOPAL_DELIVER,
			      message->number, message->waiting);
	return message;
}

static bool fragments_grow(struct nopal_composite *composite, struct nopal_message *message,
			   uint32_t index)
{
	struct nopal_body *grown = composite->awake->spare_fragments;
	uint32_t room = FRAGMENTS_AT_FIRST;

	while (room <= index)
		room *= 2;
	if (grown && grown->length >= room) {
		room = grown->length;
		composite->awake->spare_fragments = (struct nopal_body *)(uintptr_t)grown->bytes;
		composite->awake->spare_count--;
		memset(grown, 0, room * sizeof(*grown));
	} else {
		grown = nopal_alloc(&composite->session, room * sizeof(*grown));
	}
	if (!grown)
		return false;
	memcpy(grown, message->fragment, message->fragments_room * sizeof(*grown));
	fragments_free(composite, message);
	message->fragment = grown;
	message->fragments_room = room;
	return true;
}

bool nopal_message_put(struct nopal_session *session, struct nopal_message *message, uint32_t index,
		       struct nopal_body body)
{
	static const uint8_t nothing[1];
	struct nopal_composite *composite = nopal__composite(session);

	if ((index >= message->fragments_room && !fragments_grow(composite, message, index)) ||
	    !nopal__charge(composite, body.length)) {
		composite->awake->counters.rx_over_budget++;
		return false;
	}
	if (message->fragment[index].bytes) {
		nopal__credit(composite, body.length);
		return false;
	}
	if (!body.bytes)
		body.bytes = nothing;
	nopal_buffer_ref(body.buffer);
	message->fragment[index] = body;
	message->fragments++;
	message->length += body.length;
	return true;
}

void nopal__message_deliver(struct nopal_composite *composite, struct nopal_message *message)
{
	message->delivered = message->unread = true;
	message->pins++;
	nopal_raise_MSG_TO_USER(&composite->session, message);
	message->unread = false;
	if (!message->settled) {
		composite->awake->counters.messages_delivered++;
		composite->awake->counters.bytes_delivered += message->length;
		nopal__record(composite, NOPAL_TRACED_DELIVER, UINT8_MAX, 0, message->number,
			      message->length);
		nopal__up(composite)->pop(composite, message);
		if (!message->kept) {
			nopal_raise_MSG_CONSUMED(&composite->session, message);
			message->settled = true;
		}
	}
	nopal__message_unpin(composite, message);
}

/* The message was delivered out of its order, which has come to its place now. */
static void message_place_free(struct nopal_composite *composite, struct nopal_message *message)
{
	message->waiting = 0;
	message->pins++;
	nopal__message_unpin(composite, message);
}

void nopal_message_release(struct nopal_at at, struct nopal_message *message)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	uint32_t bit = at.part->hold[NOPAL_DELIVER];

	if (!(message->waiting & bit)) {
		composite->awake->counters.misuses++;
		nopal__record(composite, NOPAL_TRACED_NOTE, at.part->index, NOPAL_NOTE_MISUSE,
			      message->number, bit);
		return;
	}
	message->waiting &= ~bit;
	nopal__record(composite, NOPAL_TRACED_RELEASE, at.part->index, NOPAL_DELIVER,
		      message->number, message->waiting);
	if (message->waiting || composite->life == NOPAL_LIFE_ENDED)
		return;
	if (message->delivered)
		message_place_free(composite, message);
	else
		nopal__message_deliver(composite, message);
}

void nopal_message_deliver(struct nopal_session *session, struct nopal_message *message)
{
	if (!message->delivered)
		nopal__message_deliver(nopal__composite(session), message);
}

void nopal_message_discard(struct nopal_session *session, struct nopal_message *message)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (message->delivered && !message->unread) {
		message_place_free(composite, message);
		return;
	}
	composite->awake->counters.messages_discarded++;
	if (!message->delivered) /* else its place in an order stays taken */
		message->waiting = 0;
	message->settled = true;
	message->pins++;
	nopal_raise_MSG_CONSUMED(&composite->session, message);
	nopal__message_unpin(composite, message);
}

void nopal_message_keep(struct nopal_message *message)
{
	message->kept = true;
}

void nopal_message_give_back(struct nopal_session *session, struct nopal_message *message)
{
	struct nopal_composite *composite = nopal__composite(session);
	bool outermost;

	message->kept = false;
	if (composite->life == NOPAL_LIFE_ENDED) { /* as from within `ended` */
		message->settled = true;
		if (message->pins == 0)
			nopal__message_free(composite, message);
		return;
	}
	outermost = nopal__turn_begin(composite->world);
	nopal__touch(composite);
	message->pins++;
	if (!message->early) /* which no part has seen */
		nopal_raise_MSG_CONSUMED(&composite->session, message);
	message->settled = true;
	nopal__message_unpin(composite, message);
	nopal__turn_end(composite->world, outermost);
}

/* ------------------------------------------------------ other bytes for it */

bool nopal_message_replace(struct nopal_session *session, struct nopal_message *message,
			   struct nopal_body body)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (!nopal__charge(composite, body.length)) {
		nopal_buffer_unref(body.buffer);
		return false;
	}
	for (uint32_t i = 0; i < message->fragments_room; i++)
		nopal_buffer_unref(message->fragment[i].buffer);
	fragments_free(composite, message);
	nopal__credit(composite, message->length);
	if (message->is_unsent) {
		composite->awake->unsent_bytes += body.length - message->unsent;
		message->unsent = body.length;
	}
	if (!message->incoming) {
		composite->awake->unfinished_bytes += body.length;
		composite->awake->unfinished_bytes -= message->length;
	}
	message->one = body;
	message->fragment = &message->one;
	message->fragments = message->fragments_room = 1;
	message->length = body.length;
	return true;
}

/* ---------------------------------------------------- looking at a message */

uint64_t nopal_message_length(const struct nopal_message *message)
{
	return message->length;
}

size_t nopal_message_pieces(const struct nopal_message *message)
{
	return message->fragments;
}

const uint8_t *nopal_message_piece(const struct nopal_message *message, size_t index,
				   uint32_t *ret_length)
{
	*ret_length = message->fragment[index].length;
	return message->fragment[index].bytes;
}

size_t nopal_message_copy(const struct nopal_message *message, uint64_t from, void *bytes,
			  size_t room)
{
	size_t copied = 0;

	for (uint32_t i = 0; i < message->fragments && copied < room; i++) {
		const struct nopal_body *piece = &message->fragment[i];
		size_t take;

		if (from >= piece->length) {
			from -= piece->length;
			continue;
		}
		take = piece->length - from;
		if (take > room - copied)
			take = room - copied;
		memcpy((uint8_t *)bytes + copied, piece->bytes + from, take);
		copied += take;
		from = 0;
	}
	return copied;
}

/* The session is over: what has no outcome yet gets the only true one.  All stay to be looked at
 * until the application has heard of the end. */
void nopal__messages_end(struct nopal_composite *composite)
{
	struct nopal_message *message = nopal__pool_oldest(&composite->awake->messages);

	for (; message; message = nopal__pool_newer(message))
		if (!message->incoming && !message->settled)
			nopal__message_tell_outcome(composite, message, NOPAL_OUTCOME_UNKNOWN);
}

void nopal__messages_free(struct nopal_composite *composite)
{
	struct nopal_message *message = nopal__pool_oldest(&composite->awake->messages);

	while (message) {
		struct nopal_message *newer = nopal__pool_newer(message);

		nopal__message_free(composite, message);
		message = newer;
	}
}
