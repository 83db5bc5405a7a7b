/* SPDX-License-Identifier: MIT */
/*
 * fec_blocks.c -- blocks of forward_error_correction: as they are made, when members are packed as
 * their block is closed, and parity is computed over them; and as they arrive, a bounded ring of
 * them, each rebuilt once, when k of its n symbols are there.
 */
#include "fec.h"

/* The tables of the code are there; false: over budget. */
static bool fec_has_code(struct nopal_at at)
{
	struct forward_error_correction *self = nopal_state(at);
	struct nopal__erasure *code = &self->erasure;
	size_t bytes = nopal__erasure_memory(code->code, code->sources, code->parities);
	void *memory;

	if (!bytes || code->tables)
		return true;
	memory = nopal_alloc(at.session, bytes);
	if (!memory)
		return false;
	nopal__erasure_init(code, code->code, code->sources, code->parities, memory);
	return true;
}

/* An empty block; its memory stays with it.  NULL: over budget. */
static struct nopal__block *fec_begin(struct nopal_at at, struct nopal__block *block,
				      uint64_t number)
{
	struct forward_error_correction *self = nopal_state(at);
	return nopal__block_begin(at.session, block, number, self->erasure.sources, self->room)
		       ? block
		       : NULL;
}

/* Its memory does not stay. */
static void fec_forget(struct nopal_session *session, struct nopal__block *block)
{
	nopal_free(session, block->used); /* its memory begins there */
	*block = (struct nopal__block){
		.number = block->closed ? block->number : 0,
		.closed = block->closed,
	};
}

/* Packs the members, padded to the longest, and makes the parity of the block; returns how many
 * segments. */
static uint32_t fec_make_parity(struct nopal_at at, struct nopal_segment *parity[])
{
	struct forward_error_correction *self = nopal_state(at);
	uint8_t *source[NOPAL__ERASURE_MAX], *symbol[NOPAL__ERASURE_MAX];
	struct nopal__block *block;
	uint32_t rows;

	if (!self->parities || !fec_has_code(at))
		return 0;
	block = fec_begin(at, &self->outgoing, self->number);
	for (uint32_t i = 0; block && i < self->members; i++) {
		struct nopal_segment *segment = nopal_segment_find(at.session, self->member[i]);
		uint32_t bytes = segment ? nopal__fec_pack(at, segment, block) : 0;

		if (!bytes)
			return 0;
		if (bytes > block->length)
			block->length = bytes;
		nopal__block_add(block, i, bytes);
	}
	if (!block || !block->length ||
	    FEC_HEAD_BYTES + block->length > nopal_control_limit(at, FEC_PARITY))
		return 0;
	block->sources = self->members;
	nopal__block_pad(block, source);
	for (rows = 0; rows < self->parities; rows++) {
		struct nopal_writer head;

		parity[rows] =
			nopal_control_begin(at, FEC_PARITY, FEC_HEAD_BYTES + block->length, &head);
		if (!parity[rows])
			break;
		nopal_set(at, parity[rows], FEC_BLOCK, self->number);
		nopal_set(at, parity[rows], FEC_INDEX, self->erasure.sources + rows);
		nopal_write(&head, self->members, 1);
		nopal_write(&head, self->members + self->parities, 1);
		nopal_write(&head, block->length, FEC_SYMBOL_BYTES);
		symbol[rows] = head.at;
	}
	nopal__erasure_encode(&self->erasure, self->members, rows, block->length, source, symbol);
	return rows;
}

bool nopal__fec_join(struct nopal_at at, struct nopal_segment *segment)
{
	struct forward_error_correction *self = nopal_state(at);

	if (!self->member)
		self->member =
			nopal_alloc(at.session, self->erasure.sources * sizeof(*self->member));
	if (!self->member)
		return false;
	if (!self->members)
		self->parities =
			nopal__redundancy_wanted(at, FEC_PARITY_SEGMENTS, self->erasure.parities);
	nopal_set(at, segment, FEC_BLOCK, self->number);
	nopal_set(at, segment, FEC_INDEX, self->members);
	nopal_set(at, segment, FEC_REPAIR_GROUP, self->number);
	self->member[self->members++] = segment->handle;
	return true;
}

/* Parity that there was no room to remember is taken for settled. */
void nopal__fec_settle(struct nopal_at at)
{
	struct forward_error_correction *self = nopal_state(at);
	const struct nopal_segment *first = nopal__redundancy_open(at.session, &self->unsettled);
	uint64_t open = first ? nopal_get(at, first, FEC_BLOCK) : self->number;

	nopal_shared_set(at, FEC_GROUPS_SETTLED, (int64_t)open - 1);
}

/* The next block is open before any segment is let go: a raise may come back here. */
void nopal__fec_close_block(struct nopal_at at, void (*leave)(struct nopal_session *session,
							      struct nopal_segment *segment))
{
	struct forward_error_correction *self = nopal_state(at);
	struct nopal_segment *parity[NOPAL__ERASURE_MAX];
	uint32_t rows = fec_make_parity(at, parity);
	uint32_t i;

	nopal_timer_stop(at, FEC_FLUSH);
	for (i = 0; i < self->members; i++) {
		struct nopal_segment *segment = nopal_segment_find(at.session, self->member[i]);

		if (segment)
			nopal_release(at, segment, NOPAL_DEALLOCATE);
	}
	self->members = 0;
	self->number++;
	if (nopal_shared_get(at, FEC_RESENDS_WAIT)) {
		for (i = 0; i < rows; i++)
			nopal_queue_push(at.session, &self->unsettled, parity[i]);
		nopal__fec_settle(at);
	}
	for (i = 0; i < rows; i++)
		leave(at.session, parity[i]);
}

void nopal__fec_sender_idle(struct nopal_at at)
{
	struct forward_error_correction *self = nopal_state(at);
	struct nopal__erasure *code = &self->erasure;

	if (self->members)
		return;
	nopal_free(at.session, self->member);
	self->member = NULL;
	fec_forget(at.session, &self->outgoing);
	nopal_queue_idle(at.session, &self->unsettled);
	nopal_free(at.session, code->pattern);
	nopal__erasure_init(code, code->code, code->sources, code->parities, NULL);
}

/* ------------------------------------------------------------------- arriving */

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
		block = fec_begin(at, block, number);
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
		.missing_index = missing,
		.rebuilt = rebuilt,
	};

	block->closed = true;
	for (uint32_t index = 0; index < block->sources; index++)
		if (!nopal__block_has(block, index))
			missing[task.missing++] = (uint8_t)index;
	if (!task.missing)
		return;
	if (!self->rebuilt)
		self->rebuilt =
			nopal_alloc(at.session, (size_t)self->erasure.parities * self->room);
	if (!self->rebuilt || !fec_has_code(at))
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
			fec_forget(at.session, block);
	}
	if (kept)
		return;
	nopal_free(at.session, self->blocks);
	self->blocks = NULL;
}
