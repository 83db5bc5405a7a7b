/* SPDX-License-Identifier: MIT */
/*
 * sliding_sender.c -- sliding_window_fec where it sends: the last symbols that left, and repairs
 * made of them.
 */
#include "sliding.h"

#include <string.h>

#include "gf256.h"

/* After a pause nobody remembers what was before: the peer may have rested. */
static const int64_t SLIDING_PAUSE_NS = 200 * NOPAL_MILLISECOND;

uint8_t *nopal__sliding_place(struct nopal_session *session, struct sliding_symbols *symbols,
			      uint32_t count, uint32_t room, uint64_t number)
{
	size_t heads = count * (sizeof(uint64_t) + sizeof(uint32_t));

	if (!symbols->bytes) {
		symbols->number = nopal_alloc(session, heads + (size_t)count * room);
		if (!symbols->number)
			return NULL;
		symbols->used = (uint32_t *)(symbols->number + count);
		symbols->bytes = (uint8_t *)(symbols->used + count);
		symbols->room = count;
	}
	return symbols->bytes + number % count * room;
}

void nopal__sliding_forget(struct nopal_session *session, struct sliding_symbols *symbols)
{
	nopal_free(session, symbols->number);
	*symbols = (struct sliding_symbols){ 0 };
}

/* ----------------------------------------------------------------------- repairs */

/* Bytes of the longest of the last sources. */
static uint32_t sliding_length(const struct sliding_window_fec *self)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < self->kept; i++) {
		uint32_t used = self->sent.used[(self->newest - i) % self->sent.room];

		if (used > length)
			length = used;
	}
	return length;
}

static void sliding_combine(const struct sliding_window_fec *self, uint32_t number, uint8_t *symbol)
{
	for (uint32_t i = 0; i < self->kept; i++) {
		uint64_t source = self->newest - i;
		size_t place = source % self->sent.room;

		nopal__gf256_add(symbol, self->sent.bytes + place * self->room,
				 nopal__sliding_factor(number, source), self->sent.used[place]);
	}
}

static struct nopal_segment *sliding_repair_new(struct nopal_at at)
{
	struct sliding_window_fec *self = nopal_state(at);
	uint32_t length = sliding_length(self);
	struct nopal_writer head;
	struct nopal_segment *segment;

	if (SLIDING_HEAD_BYTES + length > nopal_control_limit(at, SLIDING_REPAIR))
		return NULL;
	segment = nopal_control_begin(at, SLIDING_REPAIR, SLIDING_HEAD_BYTES + length, &head);
	if (!segment)
		return NULL;
	nopal_set(at, segment, SLIDING_SOURCE, self->newest);
	nopal_set(at, segment, SLIDING_REPAIR_GROUP, self->newest - self->kept + 1);
	nopal_write(&head, self->number, SLIDING_NUMBER_BYTES);
	nopal_write(&head, self->kept, 1);
	nopal_write(&head, length, SLIDING_SYMBOL_BYTES);
	memset(head.at, 0, length);
	sliding_combine(self, self->number, head.at);
	self->number++;
	return segment;
}

/* What is let go may come back here: all is settled before. */
void nopal__sliding_repair(struct nopal_at at, void (*leave)(struct nopal_session *session,
							     struct nopal_segment *segment))
{
	struct sliding_window_fec *self = nopal_state(at);
	struct nopal_segment *repair[SLIDING_REPAIRS];
	bool asked = nopal_shared_get(at, SLIDING_RESENDS_WAIT) != 0;
	uint32_t count;

	nopal_timer_stop(at, SLIDING_FLUSH);
	self->pending = 0;
	for (count = 0; count < self->repairs; count++) {
		repair[count] = sliding_repair_new(at);
		if (!repair[count])
			break;
		if (asked)
			nopal_queue_push(at.session, &self->unsettled, repair[count]);
	}
	if (asked)
		nopal__sliding_settle(at);
	for (uint32_t i = 0; i < count; i++)
		leave(at.session, repair[i]);
}

/* The first repair that may still arrive repairs nothing before its own window, and the next one
 * that is made nothing before the window as it will be. */
void nopal__sliding_settle(struct nopal_at at)
{
	const struct sliding_window_fec_parameters *set = nopal_parameters(at);
	struct sliding_window_fec *self = nopal_state(at);
	uint64_t window = (uint64_t)set->window;
	uint64_t open = self->newest + 1;
	const struct nopal_segment *first;

	while ((first = nopal_queue_first(at.session, &self->unsettled)) != NULL && first->done)
		nopal_queue_pop(&self->unsettled);
	if (first)
		open = nopal_get(at, first, SLIDING_REPAIR_GROUP);
	else if (self->pending)
		open = self->newest < window ? 1 : self->newest - window + 1;
	nopal_shared_set(at, SLIDING_GROUPS_SETTLED, (int64_t)open - 1);
}

/* ----------------------------------------------------------------------- sources */

/* How many repairs the next sources get: as many as the parameter allows, or as a policy says. */
static uint32_t sliding_repairs(struct nopal_at at)
{
	const struct sliding_window_fec_parameters *set = nopal_parameters(at);
	int64_t wanted = nopal_shared_get(at, SLIDING_PARITY_SEGMENTS);

	if (wanted <= 0)
		return 0;
	return (uint32_t)(wanted < set->repairs ? wanted : set->repairs);
}

void nopal__sliding_join(struct nopal_at at, struct nopal_segment *segment)
{
	const struct sliding_window_fec_parameters *set = nopal_parameters(at);
	struct sliding_window_fec *self = nopal_state(at);
	uint32_t window = (uint32_t)set->window, used;
	uint64_t number = self->newest + 1;
	uint8_t *symbol = nopal__sliding_place(at.session, &self->sent, window, self->room, number);

	nopal_set(at, segment, SLIDING_SOURCE, number);
	used = symbol ? nopal__symbol_pack(at, segment, SLIDING_CUMULATIVE_ACK, symbol, self->room)
		      : 0;
	if (!used) { /* it goes without */
		nopal_set(at, segment, SLIDING_SOURCE, 0);
		return;
	}
	nopal_set(at, segment, SLIDING_REPAIR_GROUP, number);
	self->sent.used[number % window] = used;
	if (at.session->now_ns - self->newest_ns >= SLIDING_PAUSE_NS)
		self->kept = 0;
	self->kept = self->kept < window ? self->kept + 1 : window;
	self->newest = number;
	self->newest_ns = at.session->now_ns;
	if (!self->pending++)
		self->repairs = sliding_repairs(at);
}

void nopal__sliding_sender_idle(struct nopal_at at)
{
	struct sliding_window_fec *self = nopal_state(at);

	if (self->pending)
		return;
	self->kept = 0;
	nopal__sliding_forget(at.session, &self->sent);
	nopal_queue_idle(at.session, &self->unsettled);
}
