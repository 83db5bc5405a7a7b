/* SPDX-License-Identifier: MIT */
/*
 * fec_receiver.c -- blocks of forward_error_correction as they arrive: a bounded ring of them, each
 * rebuilt once, when k of its n symbols are there.
 */
#include "fec.h"

/* So many arrivals in a row from far away show that the sender is there, and no fewer: a stray
 * number must not make all others old. */
enum { FEC_STRAYS = 8 };

/* A session is quiet for longer than this before it rests. */
static const int64_t FEC_QUIET_NS = 200 * NOPAL_MILLISECOND;

struct nopal__block *nopal__fec_find(struct nopal_at at, uint64_t number)
{
	const struct forward_error_correction_parameters *set = nopal_parameters(at);
	struct forward_error_correction *self = nopal_state(at);
	uint64_t blocks = (uint64_t)set->blocks;
	/* The block can come next, or is one of the last. */
	bool is_near = number > self->newest ? number - self->newest <= blocks
					     : self->newest - number < blocks;
	struct nopal__block *block;

	if (number < FEC_FIRST_BLOCK)
		return NULL;
	self->strays = is_near ? 0 : self->strays + 1;
	if (self->strays && self->strays < FEC_STRAYS)
		return NULL;
	if (!self->blocks)
		self->blocks = nopal_alloc(at.session, blocks * sizeof(*self->blocks));
	if (!self->blocks)
		return NULL;
	if (number > self->newest || self->strays) {
		self->newest = number;
		nopal_serial_seen(at, FEC_BLOCK, number);
	}
	block = &self->blocks[number % blocks];
	if (block->number != number)
		block = nopal__fec_begin(at, block, number);
	return block && !block->closed ? block : NULL;
}

/* As many symbols are there as the block has sources: it is closed now, once, whether or not they
 * can be rebuilt, and the segments that are raised find it so. */
static void fec_rebuild(struct nopal_at at, struct nopal__block *block)
{
	struct forward_error_correction *self = nopal_state(at);
	uint8_t missing[NOPAL__ERASURE_MAX];
	uint8_t *symbol[NOPAL__ERASURE_MAX], *rebuilt[NOPAL__ERASURE_MAX];
	struct nopal__erasure_task task = {
		.sources = block->sources,
		.length = block->length,
		.index = block->index,
		.symbol = symbol,
		.missing = nopal__block_missing(block, missing),
		.missing_index = missing,
		.rebuilt = rebuilt,
	};

	block->closed = true;
	if (!task.missing)
		return;
	if (!self->rebuilt)
		self->rebuilt =
			nopal_alloc(at.session, (size_t)self->erasure.parities * self->room);
	if (!self->rebuilt || !nopal__fec_has_code(at))
		return;
	nopal__block_pad(block, symbol);
	for (uint32_t i = 0; i < task.missing; i++)
		rebuilt[i] = self->rebuilt + (size_t)i * self->room;
	if (!nopal__erasure_rebuild(&self->erasure, &task))
		return;
	for (uint32_t i = 0; i < task.missing; i++) {
		struct nopal_segment *segment =
			nopal__symbol_unpack(at.session, rebuilt[i], task.length);

		if (!segment)
			continue;
		/* A rebuilt segment is believed when it says that this place is its own. */
		if (nopal_get(at, segment, FEC_BLOCK) == block->number &&
		    nopal_get(at, segment, FEC_INDEX) == missing[i])
			nopal_raise_SEGMENT_FROM_NET(at.session, segment);
		nopal_segment_drop(at.session, segment);
	}
}

void nopal__fec_arrived(struct nopal_at at, struct nopal__block *block, uint32_t index,
			uint32_t bytes)
{
	struct forward_error_correction *self = nopal_state(at);

	if (!nopal__block_add(block, index, bytes))
		return;
	if (block->sources && block->arrived >= block->sources)
		fec_rebuild(at, block);
	else if (block->arrived == self->erasure.sources)
		block->closed = true; /* all k sources of a full block */
}

/* Parity of the newest block may still come where the sender waits for more segments as long as
 * that. */
void nopal__fec_receiver_idle(struct nopal_at at)
{
	const struct forward_error_correction_parameters *set = nopal_parameters(at);
	struct forward_error_correction *self = nopal_state(at);
	bool kept = false;
	int64_t i;

	nopal_free(at.session, self->rebuilt);
	self->rebuilt = NULL;
	for (i = 0; self->blocks && i < set->blocks; i++) {
		struct nopal__block *block = &self->blocks[i];

		if (block->number == self->newest && !block->closed &&
		    set->flush_ns >= FEC_QUIET_NS)
			kept = true;
		else
			nopal__fec_forget(at.session, block);
	}
	if (kept)
		return;
	nopal_free(at.session, self->blocks);
	self->blocks = NULL;
}
