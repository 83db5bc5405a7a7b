/* SPDX-License-Identifier: MIT */
/*
 * sliding_symbols.c -- sliding_window_fec at both ends: the last symbols that left, and repairs
 * made of them; the last symbols that arrived, and equations about those that did not.
 */
#include "sliding.h"

#include <string.h>

#include "gf256.h"

/* After a pause nobody remembers what was before: the peer may have rested. */
static const int64_t SLIDING_PAUSE_NS = 200 * NOPAL_MILLISECOND;

/* The place of a number, made on first use; NULL: over budget. */
static uint8_t *sliding_place(struct nopal_session *session, struct sliding_symbols *symbols,
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

static void sliding_forget(struct nopal_session *session, struct sliding_symbols *symbols)
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
	uint8_t *symbol = sliding_place(at.session, &self->sent, window, self->room, number);

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
	sliding_forget(at.session, &self->sent);
	nopal_queue_idle(at.session, &self->unsettled);
}

/* ------------------------------------------------------------------- arriving */

enum {
	/* One number from farther away is not believed: it must not make all others old.  An outage
	 * is shorter. */
	SLIDING_FAR = 1024,
	SLIDING_STRAYS = 8, /* in a row show that the sender is there */
};

/* Segments overtake a repair: symbols are kept for twice its window. */
static uint32_t sliding_ring(struct nopal_at at)
{
	const struct sliding_window_fec_parameters *set = nopal_parameters(at);

	return 2 * (uint32_t)set->window;
}

/* Is the source one that is remembered, or comes next? In that case it may be the newest, and
 * others too old. */
static bool sliding_is_near(struct nopal_at at, uint64_t number)
{
	struct sliding_window_fec *self = nopal_state(at);
	uint64_t apart = number > self->latest ? number - self->latest : self->latest - number;
	uint64_t ring = sliding_ring(at);

	self->strays = apart < SLIDING_FAR ? 0 : self->strays + 1;
	if (self->strays && self->strays < SLIDING_STRAYS)
		return false;
	if (self->strays)
		self->equations.count = 0;
	if (self->strays || number > self->latest) {
		self->latest = number;
		nopal_serial_seen(at, SLIDING_SOURCE, number);
		if (number >= ring)
			nopal__equations_forget(&self->equations, number - ring + 1);
	}
	return self->latest - number < ring;
}

/* -------------------------------------------------------------------- what is known */

/* A rebuilt segment arrives like others, and may settle more: the outermost call goes on until none
 * is left. */
static void sliding_solve(struct nopal_at at)
{
	struct sliding_window_fec *self = nopal_state(at);
	uint64_t number;
	uint32_t length;

	if (self->solving)
		return;
	self->solving = true;
	while (self->equations.count &&
	       (length = nopal__equations_solve(&self->equations, &number, self->solved)) != 0) {
		struct nopal_segment *segment =
			nopal__symbol_unpack(at.session, self->solved, length);

		if (!segment)
			continue;
		if (nopal_get(at, segment, SLIDING_SOURCE) == number)
			nopal_raise_SEGMENT_FROM_NET(at.session, segment);
		nopal_segment_drop(at.session, segment);
	}
	self->solving = false;
}

enum nopal_verdict nopal__sliding_on_data(struct nopal_at at, struct nopal_segment *segment)
{
	struct sliding_window_fec *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, SLIDING_SOURCE);
	uint32_t ring = sliding_ring(at), used;
	uint8_t *symbol;

	if (!number || nopal__sliding_has(&self->there, number) || !sliding_is_near(at, number))
		return NOPAL_CONTINUE;
	symbol = sliding_place(at.session, &self->there, ring, self->room, number);
	if (!symbol)
		return NOPAL_CONTINUE;
	self->there.number[number % ring] = 0;
	used = nopal__symbol_pack(at, segment, SLIDING_CUMULATIVE_ACK, symbol, self->room);
	if (!used)
		return NOPAL_CONTINUE;
	self->there.number[number % ring] = number;
	self->there.used[number % ring] = used;
	nopal__equations_settle(&self->equations, number, symbol, used);
	sliding_solve(at);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------------------ repairs */

/* Memory for the equations; false: over budget. */
static bool sliding_prepare(struct nopal_at at)
{
	struct sliding_window_fec *self = nopal_state(at);
	uint32_t ring = sliding_ring(at);
	size_t bytes = nopal__equations_memory(ring, self->room);
	uint8_t *memory;

	if (self->solved)
		return true;
	memory = nopal_alloc(at.session, bytes + self->room);
	if (!memory)
		return false;
	nopal__equations_init(&self->equations, ring, self->room, memory);
	self->solved = memory + bytes;
	return true;
}

/* The repair is an equation about what is not there.  A source is no longer than a sum of it with
 * others can be. */
enum nopal_verdict nopal__sliding_on_repair(struct nopal_at at, struct nopal_segment *segment)
{
	const struct sliding_window_fec_parameters *set = nopal_parameters(at);
	struct sliding_window_fec *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint32_t number = (uint32_t)nopal_read(&reader, SLIDING_NUMBER_BYTES);
	uint32_t count = (uint32_t)nopal_read(&reader, 1);
	uint32_t length = (uint32_t)nopal_read(&reader, SLIDING_SYMBOL_BYTES);
	const uint8_t *symbol = nopal_read_bytes(&reader, length);
	uint64_t last = nopal_get(at, segment, SLIDING_SOURCE);
	uint64_t first = last - count + 1, source = first;
	struct nopal__equation *next;

	if (!nopal_read_complete(&reader) || !count || count > set->window || last < count ||
	    length <= NOPAL__SYMBOL_LENGTH_BYTES || length > self->room ||
	    !sliding_is_near(at, last) || self->latest - first >= sliding_ring(at))
		return NOPAL_CONTINUE;
	while (source <= last && nopal__sliding_has(&self->there, source))
		source++;
	if (source > last || !sliding_prepare(at))
		return NOPAL_CONTINUE;
	next = nopal__equations_next(&self->equations);
	memcpy(next->symbol, symbol, length);
	next->length = length;
	for (source = first; source <= last; source++) {
		uint8_t factor = nopal__sliding_factor(number, source);
		size_t place = source % self->equations.window;

		if (!nopal__sliding_has(&self->there, source))
			nopal__equation_unknown(&self->equations, next, source, factor);
		else if (self->there.used[place] > length)
			return NOPAL_CONTINUE;
		else
			nopal__equation_known(next, factor, self->there.bytes + place * self->room,
					      self->there.used[place]);
	}
	nopal__equations_add(&self->equations, first);
	sliding_solve(at);
	return NOPAL_CONTINUE;
}

void nopal__sliding_receiver_idle(struct nopal_at at)
{
	struct sliding_window_fec *self = nopal_state(at);

	nopal_free(at.session, self->equations.row); /* all memory begins there */
	self->equations = (struct nopal__equations){ 0 };
	self->solved = NULL;
	sliding_forget(at.session, &self->there);
}
