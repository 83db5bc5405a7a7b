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

/* The sum of the last sources, as long as the longest of them. */
static struct nopal_segment *sliding_repair_new(struct nopal_at at)
{
	struct sliding_window_fec *self = nopal_state(at);
	const struct sliding_symbols *sent = &self->sent;
	uint32_t length = 0;
	struct nopal_writer head;
	struct nopal_segment *segment;

	for (uint32_t i = 0; i < self->kept; i++) {
		uint32_t used = sent->used[(self->newest - i) % sent->room];

		if (used > length)
			length = used;
	}
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
	for (uint32_t i = 0; i < self->kept; i++) {
		uint64_t source = self->newest - i;
		size_t place = source % sent->room;

		nopal__gf256_add(head.at, sent->bytes + place * self->room,
				 nopal__sliding_factor(self->number, source), sent->used[place]);
	}
	self->number++;
	return segment;
}

/* All is settled before a repair leaves: a raise may come back here. */
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
	const struct nopal_segment *first = nopal__redundancy_open(at.session, &self->unsettled);

	if (first)
		open = nopal_get(at, first, SLIDING_REPAIR_GROUP);
	else if (self->pending)
		open = self->newest < window ? 1 : self->newest - window + 1;
	nopal_shared_set(at, SLIDING_GROUPS_SETTLED, (int64_t)open - 1);
}

/* ----------------------------------------------------------------------- sources */

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
		self->repairs = nopal__redundancy_wanted(at, SLIDING_PARITY_SEGMENTS,
							 (uint32_t)set->repairs);
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
