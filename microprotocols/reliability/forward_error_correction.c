/* SPDX-License-Identifier: MIT */
/*
 * forward_error_correction -- send parity so that losses need no resend.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.C: k segments are
 *            followed by n - k parity segments; any k of the n give all k.
 * Differs:   closes an incomplete block after `flush`, or after half the playout
 *            delay where that is shorter, so that parity is not too late to
 *            help; codes over what arrives (attributes and body), so that a
 *            rebuilt segment is the segment; a block's shape may not change.
 * Needs:     segment_numbers.
 * Provides:  redundancy (exclusive).
 * Excludes:  nothing.
 * Handles:   SEND_SEGMENT, SEGMENT_FROM_NET, CLOSE_SESSION.
 * Raises:    SEGMENT_TO_NET, SEGMENT_FROM_NET.
 * Holds:     deallocate: keeps a segment until parity is made of its block.
 * Wire:      fec_block, 2 bytes, and fec_index, 1 byte, on data and parity; kind
 *            parity: sources of the block (1), symbols of the block (1), length
 *            of a symbol (2), a symbol.
 * Shares:    reads playout_delay_ns (optional, 0): bounds `flush`.
 * Parameters: n (default 5): segments of a block, parity included;
 *            k (default 4): data segments of a block;
 *            code (default xor): xor for one parity segment, or cauchy;
 *            flush (default 20ms): age at which an incomplete block is closed;
 *            blocks (default 64): blocks that the receiver keeps.
 */
#include <errno.h>

#include "microprotocol.h"

#include "block.h"

enum {
	FEC_LENGTH_BYTES = 2, /* in front of a segment in its symbol */
	FEC_HEAD_BYTES = 4,   /* of a parity body */
	FEC_BLOCK_BYTES = 2,
	FEC_FIRST_BLOCK = 1,
	FEC_PLAYOUT_PARTS = 2, /* of the playout delay, one is for filling */
};

/* Block numbers travel truncated: none is farther than this from its like. */
#define FEC_REACH (UINT64_C(1) << (8 * FEC_BLOCK_BYTES - 1))

struct forward_error_correction_parameters {
	int64_t n, k, code, flush_ns, blocks;
};

enum { FEC_BLOCK, FEC_INDEX, FEC_ACK_FLOOR }; /* attributes */
enum { FEC_PLAYOUT_DELAY };		      /* shared variables */
enum { FEC_PARITY };			      /* kinds */
enum { FEC_FLUSH };			      /* timers */

struct forward_error_correction {
	uint64_t number;	      /* of the block that departures join */
	uint32_t members;	      /* that it has */
	uint32_t room;		      /* bytes of a symbol, at most */
	struct nopal_handle *member;  /* k places */
	struct nopal__block outgoing; /* the members, packed */
	uint64_t newest;	      /* block that arrived */
	struct nopal__block
		*blocks;  /* as many as `blocks` says; on first use */
	uint8_t *rebuilt; /* n - k symbols; on first use */
	struct nopal__erasure erasure;
};

static const struct forward_error_correction_parameters *
fec_set(const struct nopal_part *part)
{
	return nopal_parameters(part);
}

/* An empty block; its memory stays with it.  NULL: over budget. */
static struct nopal__block *fec_block_begin(struct nopal_session *session,
					    const struct nopal_part *part,
					    struct nopal__block *block,
					    uint64_t number)
{
	struct forward_error_correction *self = nopal_state(session, part);
	uint32_t k = self->erasure.sources;
	void *memory;

	if (!block->symbols) {
		memory = nopal_alloc(session,
				     nopal__block_memory(k, self->room));
		if (!memory)
			return NULL;
		nopal__block_init(block, k, self->room, memory);
	}
	nopal__block_reset(block, number);
	return block;
}

/* Puts a segment into the next place of a block; returns its bytes there, or 0.
 * The acknowledgement that rides on a departure is not part of the segment:
 * another departure has another, and the symbol must be the same. */
static uint32_t fec_pack(struct nopal_session *session,
			 const struct nopal_part *part,
			 struct nopal_segment *segment,
			 const struct nopal__block *block)
{
	uint8_t *symbol = nopal__block_symbol(block, block->arrived);
	struct nopal_writer head = { .at = symbol,
				     .end = symbol + FEC_LENGTH_BYTES };
	uint64_t floor = nopal_get(segment, part, FEC_ACK_FLOOR);
	uint32_t length;

	if (nopal_has(part, FEC_ACK_FLOOR))
		nopal_set(segment, part, FEC_ACK_FLOOR, 0);
	length = nopal_segment_pack(session, segment, symbol + FEC_LENGTH_BYTES,
				    block->room - FEC_LENGTH_BYTES);
	if (nopal_has(part, FEC_ACK_FLOOR))
		nopal_set(segment, part, FEC_ACK_FLOOR, floor);
	nopal_write(&head, length, FEC_LENGTH_BYTES);
	return length ? length + FEC_LENGTH_BYTES : 0;
}

/* ------------------------------------------------------------- at the sender */

/* Packs the members, padded to the longest; returns its bytes, or 0. */
static uint32_t fec_pack_members(struct nopal_session *session,
				 const struct nopal_part *part,
				 uint8_t *symbol[])
{
	struct forward_error_correction *self = nopal_state(session, part);
	struct nopal__block *block =
		fec_block_begin(session, part, &self->outgoing, self->number);
	uint32_t i, bytes;

	for (i = 0; block && i < self->members; i++) {
		struct nopal_segment *segment =
			nopal_segment_find(session, self->member[i]);

		bytes = segment ? fec_pack(session, part, segment, block) : 0;
		if (!bytes)
			return 0;
		if (bytes > block->length)
			block->length = bytes;
		nopal__block_add(block, i, bytes);
	}
	if (!block)
		return 0;
	block->sources = self->members;
	nopal__block_pad(block, symbol);
	return block->length;
}

/* A parity segment with its head; the symbol goes to *ret_symbol. */
static struct nopal_segment *fec_parity_new(struct nopal_session *session,
					    const struct nopal_part *part,
					    uint32_t row, uint32_t length,
					    uint8_t **ret_symbol)
{
	struct forward_error_correction *self = nopal_state(session, part);
	struct nopal_writer head;
	struct nopal_segment *segment;
	uint8_t *bytes;

	segment = nopal_control_new(session, part, FEC_PARITY,
				    FEC_HEAD_BYTES + length, &bytes);
	if (!segment)
		return NULL;
	nopal_set(segment, part, FEC_BLOCK, self->number);
	nopal_set(segment, part, FEC_INDEX, self->erasure.sources + row);
	head = (struct nopal_writer){ .at = bytes,
				      .end = bytes + FEC_HEAD_BYTES };
	nopal_write(&head, self->members, 1);
	nopal_write(&head, self->members + self->erasure.parities, 1);
	nopal_write(&head, length, FEC_LENGTH_BYTES);
	*ret_symbol = bytes + FEC_HEAD_BYTES;
	return segment;
}

/* Makes the parity of the block; returns how many segments. */
static uint32_t fec_make_parity(struct nopal_session *session,
				const struct nopal_part *part,
				struct nopal_segment *parity[])
{
	struct forward_error_correction *self = nopal_state(session, part);
	uint8_t *source[NOPAL__ERASURE_MOST], *symbol[NOPAL__ERASURE_MOST];
	uint32_t length = fec_pack_members(session, part, source);
	uint32_t rows;

	if (!length || FEC_HEAD_BYTES + length >
			       nopal_control_limit(session, part, FEC_PARITY))
		return 0;
	for (rows = 0; rows < self->erasure.parities; rows++) {
		parity[rows] = fec_parity_new(session, part, rows, length,
					      &symbol[rows]);
		if (!parity[rows])
			break;
	}
	nopal__erasure_encode(&self->erasure, self->members, rows, length,
			      source, symbol);
	return rows;
}

/* The next block is open before anything is let go: what is let go may come
 * back here. */
static void fec_close_block(struct nopal_session *session,
			    const struct nopal_part *part,
			    void (*leave)(struct nopal_session *session,
					  struct nopal_segment *segment))
{
	struct forward_error_correction *self = nopal_state(session, part);
	struct nopal_segment *parity[NOPAL__ERASURE_MOST];
	uint32_t rows = fec_make_parity(session, part, parity);
	uint32_t i;

	nopal_timer_stop(session, part, FEC_FLUSH);
	for (i = 0; i < self->members; i++) {
		struct nopal_segment *segment =
			nopal_segment_find(session, self->member[i]);

		if (segment)
			nopal_release(session, part, segment, NOPAL_DEALLOCATE);
	}
	self->members = 0;
	self->number++;
	for (i = 0; i < rows; i++)
		leave(session, parity[i]);
}

static void forward_error_correction_when_flush(struct nopal_session *session,
						const struct nopal_part *part)
{
	const struct forward_error_correction *self =
		nopal_state(session, part);

	if (self->members)
		fec_close_block(session, part, nopal_raise_SEGMENT_TO_NET);
}

static int64_t fec_flush_ns(struct nopal_session *session,
			    const struct nopal_part *part)
{
	int64_t flush_ns = fec_set(part)->flush_ns;
	int64_t playout_ns = nopal_shared(session, part, FEC_PLAYOUT_DELAY);

	playout_ns /= FEC_PLAYOUT_PARTS;
	return playout_ns && playout_ns < flush_ns ? playout_ns : flush_ns;
}

/* ----------------------------------------------------------- at the receiver */

/* The block of an arriving segment; NULL when it is too old, out of reach, has
 * no use for more, or memory is short. */
static struct nopal__block *fec_block_find(struct nopal_session *session,
					   const struct nopal_part *part,
					   uint64_t number)
{
	struct forward_error_correction *self = nopal_state(session, part);
	uint64_t blocks = (uint64_t)fec_set(part)->blocks;
	struct nopal__block *block;

	if (number < FEC_FIRST_BLOCK || number > self->newest + FEC_REACH ||
	    (number < self->newest && self->newest - number >= blocks))
		return NULL;
	if (!self->blocks)
		self->blocks =
			nopal_alloc(session, blocks * sizeof(*self->blocks));
	if (!self->blocks)
		return NULL;
	if (number > self->newest) {
		self->newest = number;
		nopal_serial_seen(session, part, FEC_BLOCK, number);
	}
	block = &self->blocks[number % blocks];
	if (block->number != number)
		block = fec_block_begin(session, part, block, number);
	return block && !block->closed ? block : NULL;
}

/* What was rebuilt is believed when it is a segment of this place, whole, with
 * nothing but padding behind it. */
static struct nopal_segment *fec_unpack(struct nopal_session *session,
					const struct nopal_part *part,
					const struct nopal__block *block,
					uint8_t index, const uint8_t *symbol)
{
	struct nopal_reader reader = { .at = symbol,
				       .end = symbol + block->length };
	uint32_t length = (uint32_t)nopal_read(&reader, FEC_LENGTH_BYTES);
	const uint8_t *bytes = nopal_read_bytes(&reader, length);
	struct nopal_segment *segment;

	if (!length || reader.bad)
		return NULL;
	while (nopal_read_left(&reader))
		if (nopal_read(&reader, 1))
			return NULL;
	segment = nopal_segment_unpack(session, bytes, length);
	if (!segment)
		return NULL;
	if (nopal_get(segment, part, FEC_BLOCK) == block->number &&
	    nopal_get(segment, part, FEC_INDEX) == index)
		return segment;
	nopal_segment_drop(session, segment);
	return NULL;
}

static void fec_raise_rebuilt(struct nopal_session *session,
			      const struct nopal_part *part,
			      const struct nopal__block *block,
			      const struct nopal__erasure_task *task)
{
	uint32_t i;

	for (i = 0; i < task->missing; i++) {
		struct nopal_segment *segment =
			fec_unpack(session, part, block, task->missing_index[i],
				   task->rebuilt[i]);

		if (!segment)
			continue;
		nopal_raise_SEGMENT_FROM_NET(session, segment);
		nopal_segment_drop(session, segment);
	}
}

/* As many symbols are there as the block has sources: it is closed now, once,
 * whatever comes out, and the segments that are raised find it so. */
static void fec_rebuild(struct nopal_session *session,
			const struct nopal_part *part,
			struct nopal__block *block)
{
	struct forward_error_correction *self = nopal_state(session, part);
	uint8_t missing[NOPAL__ERASURE_MOST];
	uint8_t *symbol[NOPAL__ERASURE_MOST], *rebuilt[NOPAL__ERASURE_MOST];
	struct nopal__erasure_task task = {
		.sources = block->sources,
		.length = block->length,
		.index = block->index,
		.symbol = symbol,
		.missing = nopal__block_missing(block, missing),
		.missing_index = missing,
		.rebuilt = rebuilt,
	};
	uint32_t i;

	block->closed = true;
	if (!task.missing)
		return;
	if (!self->rebuilt)
		self->rebuilt = nopal_alloc(
			session, (size_t)self->erasure.parities * self->room);
	if (!self->rebuilt)
		return;
	nopal__block_pad(block, symbol);
	for (i = 0; i < task.missing; i++)
		rebuilt[i] = self->rebuilt + (size_t)i * self->room;
	if (nopal__erasure_rebuild(&self->erasure, &task))
		fec_raise_rebuilt(session, part, block, &task);
}

/* The symbol in the next place of the block, of `bytes` bytes, has arrived. */
static void fec_arrived(struct nopal_session *session,
			const struct nopal_part *part,
			struct nopal__block *block, uint32_t index,
			uint32_t bytes)
{
	struct forward_error_correction *self = nopal_state(session, part);

	if (!nopal__block_add(block, index, bytes))
		return;
	if (block->sources && block->arrived >= block->sources)
		fec_rebuild(session, part, block);
	else if (block->arrived == self->erasure.sources)
		block->closed = true; /* all k sources of a full block */
}

/* ---------------------------------------------------------------- handlers */

static enum nopal_verdict
forward_error_correction_on_send(struct nopal_session *session,
				 const struct nopal_part *part,
				 struct nopal_segment *segment)
{
	struct forward_error_correction *self = nopal_state(session, part);

	if (segment->departures != 1)
		return NOPAL_CONTINUE;
	nopal_set(segment, part, FEC_BLOCK, self->number);
	nopal_set(segment, part, FEC_INDEX, self->members);
	self->member[self->members++] = segment->handle;
	if (self->members == self->erasure.sources)
		fec_close_block(session, part, nopal_queue_SEGMENT_TO_NET);
	else if (self->members == 1)
		nopal_timer_start(session, part, FEC_FLUSH,
				  session->now_ns +
					  fec_flush_ns(session, part));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict
forward_error_correction_on_data(struct nopal_session *session,
				 const struct nopal_part *part,
				 struct nopal_segment *segment)
{
	struct forward_error_correction *self = nopal_state(session, part);
	uint64_t index = nopal_get(segment, part, FEC_INDEX);
	struct nopal__block *block;
	uint32_t bytes;

	if (index >= self->erasure.sources)
		return NOPAL_CONTINUE;
	block = fec_block_find(session, part,
			       nopal_get(segment, part, FEC_BLOCK));
	if (!block || !nopal__block_wants(block, (uint32_t)index))
		return NOPAL_CONTINUE;
	bytes = fec_pack(session, part, segment, block);
	if (bytes)
		fec_arrived(session, part, block, (uint32_t)index, bytes);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict
forward_error_correction_on_parity(struct nopal_session *session,
				   const struct nopal_part *part,
				   struct nopal_segment *segment)
{
	struct forward_error_correction *self = nopal_state(session, part);
	uint32_t k = self->erasure.sources, parities = self->erasure.parities;
	struct nopal_reader reader = { .at = segment->body.bytes,
				       .end = segment->body.bytes +
					      segment->body.length };
	uint32_t sources = (uint32_t)nopal_read(&reader, 1);
	uint32_t symbols = (uint32_t)nopal_read(&reader, 1);
	uint32_t length = (uint32_t)nopal_read(&reader, FEC_LENGTH_BYTES);
	const uint8_t *symbol = nopal_read_bytes(&reader, length);
	uint32_t index = (uint32_t)nopal_get(segment, part, FEC_INDEX);
	struct nopal__block *block;

	if (!nopal_read_complete(&reader) || length <= FEC_LENGTH_BYTES ||
	    !sources || sources > k || symbols != sources + parities ||
	    index < k || index >= k + parities)
		return NOPAL_CONTINUE;
	block = fec_block_find(session, part,
			       nopal_get(segment, part, FEC_BLOCK));
	if (!block || length > block->room || nopal__block_has(block, index) ||
	    !nopal__block_agree(block, sources, length))
		return NOPAL_CONTINUE;
	memcpy(nopal__block_symbol(block, block->arrived), symbol, length);
	fec_arrived(session, part, block, index, length);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict
forward_error_correction_on_close(struct nopal_session *session,
				  const struct nopal_part *part,
				  struct nopal_session *subject)
{
	(void)subject;
	forward_error_correction_when_flush(session, part);
	return NOPAL_CONTINUE;
}

static int forward_error_correction_open(struct nopal_session *session,
					 const struct nopal_part *part)
{
	const struct forward_error_correction_parameters *set = fec_set(part);
	struct forward_error_correction *self = nopal_state(session, part);
	uint32_t k = (uint32_t)set->k, parities = (uint32_t)(set->n - set->k);
	size_t bytes = nopal__erasure_memory((int)set->code, k, parities);
	void *memory = bytes ? nopal_alloc(session, bytes) : NULL;

	self->number = FEC_FIRST_BLOCK;
	self->room = nopal_pack_limit(session) + FEC_LENGTH_BYTES;
	self->member = nopal_alloc(session, k * sizeof(*self->member));
	if (!self->member || (bytes && !memory))
		return -ENOMEM;
	nopal__erasure_init(&self->erasure, (int)set->code, k, parities,
			    memory);
	return 0;
}

static void forward_error_correction_validate(const void *parameters,
					      struct nopal_problems *problems)
{
	const struct forward_error_correction_parameters *set = parameters;

	if (set->k >= set->n)
		nopal_problem(problems, "k",
			      "a block of n segments has no parity among them",
			      "set k below n");
	else if (set->code == NOPAL__XOR && set->n - set->k != 1)
		nopal_problem(problems, "code",
			      "xor makes exactly one parity segment of a block",
			      "set k = n - 1, or code = cauchy");
	if (set->code == NOPAL__CAUCHY && !nopal__erasure_has_cauchy())
		nopal_problem(
			problems, "code", "this build has no cauchy code",
			"build with ISA-L, or set code = xor and k = n - 1");
}

#define FEC_PARAMETER(key, field, measure, first, low, high, text, ...)        \
	{                                                                      \
		.name = key, .unit = measure,                                  \
		.offset = offsetof(struct forward_error_correction_parameters, \
				   field),                                     \
		.initial = first, .least = low, .most = high, .doc = text,     \
		__VA_ARGS__                                                    \
	}

static const struct nopal_parameter forward_error_correction_table[] = {
	FEC_PARAMETER("n", n, NOPAL_COUNT, "5", "2", "255",
		      "segments of a block, parity included", .wire = true),
	FEC_PARAMETER("k", k, NOPAL_COUNT, "4", "1", "254",
		      "data segments of a block", .wire = true),
	FEC_PARAMETER("code", code, NOPAL_WORD, "xor", NULL, NULL,
		      "xor for one parity segment, or cauchy", .wire = true,
		      .choices = "xor|cauchy"),
	FEC_PARAMETER("flush", flush_ns, NOPAL_TIME, "20ms", "1ms", "10s",
		      "age at which an incomplete block is closed"),
	FEC_PARAMETER("blocks", blocks, NOPAL_COUNT, "64", "1", "1024",
		      "blocks that the receiver keeps"),
	{ 0 },
};

static const struct nopal_attribute forward_error_correction_attributes[] = {
	[FEC_BLOCK] = { .name = "fec_block",
			.access = NOPAL_WRITE,
			.wire_bytes = FEC_BLOCK_BYTES,
			.kinds = NOPAL_CARRIED,
			.serial = true,
			.doc = "block that the segment belongs to" },
	[FEC_INDEX] = { .name = "fec_index",
			.access = NOPAL_WRITE,
			.wire_bytes = 1,
			.kinds = NOPAL_CARRIED,
			.doc = "its place in the block; parity from k on" },
	[FEC_ACK_FLOOR] = { .name = "ack_floor",
			    .access = NOPAL_READ_OPTIONAL },
	{ 0 },
};

/* Parity leaves before the connection says that there is no more, and nothing
 * is coded twice that arrives twice. */
static const struct nopal_binding forward_error_correction_bindings[] = {
	NOPAL_ON(SEND_SEGMENT, forward_error_correction_on_send),
	NOPAL_ON(SEGMENT_FROM_NET, forward_error_correction_on_data,
		 .after = "duplicate_filter"),
	NOPAL_ON(SEGMENT_FROM_NET, forward_error_correction_on_parity,
		 .kinds = NOPAL_OWN_KIND + FEC_PARITY),
	NOPAL_ON(CLOSE_SESSION, forward_error_correction_on_close,
		 .before = "connection"),
	{ 0 },
};

static const struct nopal_relation forward_error_correction_needs[] = {
	{ "segment_numbers",
	  "a rebuilt segment and its late original must be known as one" },
	{ 0 },
};

static const struct nopal_kind forward_error_correction_kinds[] = {
	[FEC_PARITY] = { "parity", NOPAL_KIND_CARRIED,
			 "redundancy of a block of data segments" },
	{ 0 },
};

static const struct nopal_hold forward_error_correction_holds[] = {
	{ "parity is made of its block", NOPAL_DEALLOCATE, NOPAL_DATA, false },
	{ 0 },
};

static const struct nopal_timer forward_error_correction_timers[] = {
	[FEC_FLUSH] = { "flush", forward_error_correction_when_flush },
	{ 0 },
};

const struct nopal_microprotocol nopal_forward_error_correction = {
	.abi = NOPAL_ABI,
	.name = "forward_error_correction",
	.family = "reliability",
	.summary = "send parity so that losses need no resend",
	.provides =
		(const struct nopal_role[]){ { "redundancy", true }, { 0 } },
	.needs = forward_error_correction_needs,
	.parameters_size = sizeof(struct forward_error_correction_parameters),
	.parameters = forward_error_correction_table,
	.validate = forward_error_correction_validate,
	.attributes = forward_error_correction_attributes,
	.shared = (const struct nopal_shared[]){ { "playout_delay_ns",
						   NOPAL_READ_OPTIONAL, 0,
						   "bounds flush" },
						 { 0 } },
	.kinds = forward_error_correction_kinds,
	.holds = forward_error_correction_holds,
	.timers = forward_error_correction_timers,
	.bindings = forward_error_correction_bindings,
	.raises = (const char *const[]){ "SEGMENT_TO_NET", "SEGMENT_FROM_NET",
					 NULL },
	.state_size = sizeof(struct forward_error_correction),
	.open = forward_error_correction_open,
};
