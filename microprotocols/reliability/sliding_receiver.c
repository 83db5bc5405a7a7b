/* SPDX-License-Identifier: MIT */
/*
 * sliding_receiver.c -- sliding_window_fec where it receives: the last symbols that arrived, and
 * equations about those that did not.
 */
#include "sliding.h"

#include <string.h>

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
	symbol = nopal__sliding_place(at.session, &self->there, ring, self->room, number);
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
	nopal__sliding_forget(at.session, &self->there);
}
