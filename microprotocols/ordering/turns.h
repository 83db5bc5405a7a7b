/* SPDX-License-Identifier: MIT */
/*
 * turns.h -- messages that wait until all that have an earlier place were delivered.
 *
 * The part that includes it has one hold on delivery, and an attribute with the place behind a
 * message's last.
 */
#ifndef NOPAL_TURNS_H
#define NOPAL_TURNS_H

#include <stdlib.h>

#include <nopal/microprotocol.h>

struct turns {
	uint64_t expected;	  /* place of the next message to deliver */
	struct nopal_map waiting; /* arrived early, by their first place */
};

/* The expected place moves before the message does: a delivery may come back to this session. */
static inline void turns_deliver(struct nopal_at at, struct turns *turns, unsigned next,
				 struct nopal_message *message)
{
	turns->expected = nopal_get(at, message, next);
	nopal_message_release(at, message);
}

static inline void turns_deliver_waiting(struct nopal_at at, struct turns *turns, unsigned next)
{
	while (turns->waiting.used) {
		const void *early = nopal_map_take(&turns->waiting, turns->expected);
		struct nopal_message *message;

		if (!early)
			break;
		message = nopal_message_find(at.session, nopal_value_handle(early));
		if (message)
			turns_deliver(at, turns, next, message);
		else /* it was discarded, as a jitter buffer may */
			turns->expected++;
	}
}

static inline int turns_by_number(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* No other message below `end` will come: those that wait for one are delivered in order, and those
 * that follow them. */
static inline void turns_skip(struct nopal_at at, struct turns *turns, unsigned next, uint64_t end)
{
	uint64_t *numbers = NULL;
	uint32_t count = 0;

	if (turns->waiting.used)
		numbers = nopal_alloc(at.session, turns->waiting.used * sizeof(*numbers));
	for (uint32_t i = 0; numbers && i < turns->waiting.room; i++)
		if (turns->waiting.slots[i].value && turns->waiting.slots[i].key < end)
			numbers[count++] = turns->waiting.slots[i].key;
	if (numbers)
		qsort(numbers, count, sizeof(*numbers), turns_by_number);
	for (uint32_t i = 0; i < count; i++) {
		if (turns->expected < numbers[i])
			turns->expected = numbers[i];
		turns_deliver_waiting(at, turns, next);
	}
	nopal_free(at.session, numbers);
	if (end != UINT64_MAX && turns->expected < end)
		turns->expected = end;
	turns_deliver_waiting(at, turns, next);
}

/* Keeps what has come early, or breaks the session: the peer was told that it has arrived. */
static inline void turns_keep(struct nopal_at at, struct turns *turns, uint64_t first,
			      struct nopal_handle message, int64_t most)
{
	if (turns->waiting.used >= most ||
	    nopal_map_put(at.session, &turns->waiting, first, nopal_handle_value(message)) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "too many messages wait for a predecessor");
}

/* False: it covers no place, or places that others covered before: it is a duplicate or was made
 * up, and was discarded. */
static inline bool turns_arrive(struct nopal_at at, struct turns *turns, unsigned next,
				struct nopal_message *message, uint64_t first, int64_t most)
{
	if (first < turns->expected || nopal_get(at, message, next) <= first ||
	    nopal_map_get(&turns->waiting, first)) {
		nopal_message_discard(at.session, message);
		return false;
	}
	if (first == turns->expected) {
		turns_deliver(at, turns, next, message);
		turns_deliver_waiting(at, turns, next);
	} else {
		turns_keep(at, turns, first, message->handle, most);
	}
	return true;
}

#endif
