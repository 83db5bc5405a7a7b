/* SPDX-License-Identifier: MIT */
/*
 * erasure_code -- n - k parity segments behind each k data segments: any k of them are enough (lab 9)
 *
 * Blocks, sending and receiving are here; what is missing are the parity and its solution.  As
 * handed out, parity segments leave with zeros in them, and nothing is rebuilt.
 */
#include <nopal/microprotocol.h>

enum { ERASURE_CODE_NUMBER }; /* its attributes */
enum { ERASURE_CODE_PARITY }; /* its kinds */
enum {
	ERASURE_CODE_MAX = 32,	  /* n at most */
	ERASURE_CODE_BLOCKS = 16, /* that the receiver keeps */
	ERASURE_CODE_ROOM = 1536, /* bytes of a symbol at most */
	ERASURE_CODE_LENGTH = 2,  /* bytes in front of a packed segment */
	ERASURE_CODE_HEAD = 5,	  /* of a parity body: block 4, row 1 */
};

struct erasure_code_parameters {
	int64_t n, k;
};

/* Symbols of a block, in the order of arrival; the sender's has its sources alone. */
struct erasure_code_block {
	uint64_t number; /* from 1 on; 0: unused */
	uint32_t count;
	uint32_t length; /* of the longest */
	uint32_t there;	 /* bit i: symbol i has arrived; parity from k on */
	uint8_t index[ERASURE_CODE_MAX];
	uint8_t symbol[ERASURE_CODE_MAX][ERASURE_CODE_ROOM]; /* zeros behind each */
};

struct erasure_code {
	struct erasure_code_block *sent, *blocks; /* one; ERASURE_CODE_BLOCKS of them */
};

/* -------------------------------------------------------------- yours: the code */

/* Part 1, n - k = 1: the one parity symbol is the xor of the k sources, block->symbol[0] to
 * block->symbol[k - 1], each of which has zeros behind it up to block->length.
 * Part 2: a row of the matrix of the hand-out, in GF(256).  `symbol` is all zeros before. */
static void erasure_code_encode(const struct erasure_code_block *block, uint32_t k, uint32_t row,
				uint8_t symbol[])
{
	(void)block, (void)k, (void)row, (void)symbol;
}

/* k symbols are there, block->symbol[0] to block->symbol[k - 1], in the order of their arrival;
 * block->index[i] says which one symbol[i] is: below k a source, from k on parity of row index - k.
 * Put source i into block->symbol[i], for each i below k, and return true; false: nothing goes up. */
static bool erasure_code_solve(struct erasure_code_block *block, uint32_t k)
{
	(void)block, (void)k;
	return false;
}

/* ------------------------------------------------------------------ the sender */

static void erasure_code_send_parity(struct nopal_at at, const struct erasure_code_block *block)
{
	const struct erasure_code_parameters *set = nopal_parameters(at);
	uint32_t k = (uint32_t)set->k;

	for (uint32_t row = 0; row < (uint32_t)set->n - k; row++) {
		struct nopal_writer writer;
		struct nopal_segment *parity = nopal_control_begin(
			at, ERASURE_CODE_PARITY, ERASURE_CODE_HEAD + block->length, &writer);
		uint8_t symbol[ERASURE_CODE_ROOM] = { 0 };

		if (!parity)
			return;
		erasure_code_encode(block, k, row, symbol);
		nopal_write(&writer, block->number, 4);
		nopal_write(&writer, row, 1);
		nopal_write_bytes(&writer, symbol, block->length);
		nopal_control_send(at.session, parity, nopal_written(&writer));
	}
}

/* Begins a block where another one was. */
static void erasure_code_begin(struct erasure_code_block *block, uint64_t number)
{
	memset(block, 0, sizeof(*block));
	block->number = number;
}

/* A data segment as a symbol: its length, and then its attributes and body as they travel. */
static void erasure_code_put(struct nopal_at at, struct erasure_code_block *block, uint32_t index,
			     const struct nopal_segment *segment)
{
	uint8_t *symbol = block->symbol[block->count];
	uint32_t bytes = nopal_segment_pack(at.session, segment, symbol + ERASURE_CODE_LENGTH,
					    ERASURE_CODE_ROOM - ERASURE_CODE_LENGTH);

	symbol[0] = (uint8_t)(bytes >> 8);
	symbol[1] = (uint8_t)bytes;
	if (block->length < bytes + ERASURE_CODE_LENGTH)
		block->length = bytes + ERASURE_CODE_LENGTH;
	block->there |= UINT32_C(1) << index;
	block->index[block->count++] = (uint8_t)index;
}

static enum nopal_verdict erasure_code_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct erasure_code_parameters *set = nopal_parameters(at);
	struct erasure_code *self = nopal_state(at);
	uint64_t place = nopal_get(at, segment, ERASURE_CODE_NUMBER) - 1;

	if (!self->sent)
		self->sent = nopal_alloc(at.session, sizeof(*self->sent));
	if (!self->sent)
		return NOPAL_CONTINUE;
	if (place % (uint64_t)set->k == 0)
		erasure_code_begin(self->sent, place / (uint64_t)set->k + 1);
	erasure_code_put(at, self->sent, (uint32_t)(place % (uint64_t)set->k), segment);
	if (self->sent->count == set->k)
		erasure_code_send_parity(at, self->sent);
	return NOPAL_CONTINUE;
}

/* ---------------------------------------------------------------- the receiver */

/* NULL: the block is an old one, or there is no memory. */
static struct erasure_code_block *erasure_code_find(struct nopal_at at, uint64_t number)
{
	struct erasure_code *self = nopal_state(at);
	struct erasure_code_block *block;

	if (!self->blocks)
		self->blocks = nopal_alloc(at.session, ERASURE_CODE_BLOCKS * sizeof(*self->blocks));
	if (!self->blocks)
		return NULL;
	block = &self->blocks[number % ERASURE_CODE_BLOCKS];
	if (block->number < number)
		erasure_code_begin(block, number);
	return block->number == number ? block : NULL;
}

static void erasure_code_raise(struct nopal_at at, const uint8_t *symbol)
{
	uint32_t length = (uint32_t)symbol[0] << 8 | symbol[1];
	struct nopal_segment *segment = NULL;

	if (length <= ERASURE_CODE_ROOM - ERASURE_CODE_LENGTH)
		segment = nopal_segment_unpack(at.session, symbol + ERASURE_CODE_LENGTH, length);
	if (!segment)
		return;
	nopal_raise_SEGMENT_FROM_NET(at.session, segment);
	nopal_segment_drop(at.session, segment);
}

/* k symbols are there: what is missing of the sources goes up as if it had arrived. */
static void erasure_code_rebuild(struct nopal_at at, struct erasure_code_block *block)
{
	const struct erasure_code_parameters *set = nopal_parameters(at);
	uint32_t k = (uint32_t)set->k, there = block->there;

	if (!erasure_code_solve(block, k))
		return;
	for (uint32_t source = 0; source < k; source++)
		if (!(there >> source & 1))
			erasure_code_raise(at, block->symbol[source]);
}

/* One symbol more; k are enough, and later ones are not looked at. */
static bool erasure_code_wants(struct nopal_at at, const struct erasure_code_block *block,
			       uint32_t index)
{
	const struct erasure_code_parameters *set = nopal_parameters(at);

	return block && block->count < set->k && !(block->there >> index & 1);
}

static void erasure_code_arrived(struct nopal_at at, struct erasure_code_block *block)
{
	const struct erasure_code_parameters *set = nopal_parameters(at);
	uint32_t sources = (uint32_t)((UINT64_C(1) << set->k) - 1);

	if (block->count == set->k && (block->there & sources) != sources)
		erasure_code_rebuild(at, block);
}

static enum nopal_verdict erasure_code_on_data(struct nopal_at at, struct nopal_segment *segment)
{
	const struct erasure_code_parameters *set = nopal_parameters(at);
	uint64_t place = nopal_get(at, segment, ERASURE_CODE_NUMBER) - 1;
	uint32_t index = (uint32_t)(place % (uint64_t)set->k);
	struct erasure_code_block *block = erasure_code_find(at, place / (uint64_t)set->k + 1);

	if (!erasure_code_wants(at, block, index))
		return NOPAL_CONTINUE;
	erasure_code_put(at, block, index, segment);
	erasure_code_arrived(at, block);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict erasure_code_on_parity(struct nopal_at at, struct nopal_segment *segment)
{
	const struct erasure_code_parameters *set = nopal_parameters(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t number = nopal_read(&reader, 4), row = nopal_read(&reader, 1);
	uint32_t length = (uint32_t)nopal_read_left(&reader);
	struct erasure_code_block *block;

	if (reader.bad || !number || row >= (uint64_t)(set->n - set->k) ||
	    length > ERASURE_CODE_ROOM)
		return NOPAL_STOP;
	block = erasure_code_find(at, number);
	if (!erasure_code_wants(at, block, (uint32_t)((uint64_t)set->k + row)))
		return NOPAL_STOP;
	if (block->length < length)
		block->length = length;
	memcpy(block->symbol[block->count], nopal_read_bytes(&reader, length), length);
	block->there |= UINT32_C(1) << ((uint64_t)set->k + row);
	block->index[block->count++] = (uint8_t)((uint64_t)set->k + row);
	erasure_code_arrived(at, block);
	return NOPAL_STOP;
}

static void erasure_code_validate(const void *parameters, struct nopal_problems *problems)
{
	const struct erasure_code_parameters *set = parameters;

	if (set->k >= set->n)
		nopal_problem(problems, "k", "there is no parity", "set k below n");
}

const struct nopal_microprotocol nopal_erasure_code = {
	NOPAL_DESCRIBE(
		erasure_code, labs,
		"n - k parity segments behind each k data segments: any k of them are enough"),
	.provides = NOPAL_ROLES({ "redundancy", true }),
	.needs = NOPAL_RELATIONS({ "segment_numbers", "blocks go by numbers" },
				 { "duplicate_filter", "what was rebuilt may come late" }),
	.promises = NOPAL_PROMISES({ NOPAL_DELIVERY, NOPAL_RECOVERY, NOPAL_GIVES, NOPAL_REPAIRED,
				     "any k segments of a block are enough" }),
	.parameters_size = sizeof(struct erasure_code_parameters),
	.parameters =
		NOPAL_PARAMETERS(NOPAL_NUMBER(erasure_code, n, "n", COUNT, "5", "2", "32",
					      "segments of a block, parity included", .wire = true),
				 NOPAL_NUMBER(erasure_code, k, "k", COUNT, "4", "1", "31",
					      "its data segments", .wire = true)),
	.validate = erasure_code_validate,
	.attributes = NOPAL_ATTRIBUTES([ERASURE_CODE_NUMBER] = { "segment_number", NOPAL_READ }),
	.kinds = NOPAL_KINDS([ERASURE_CODE_PARITY] = { "parity", NOPAL_KIND_CONTROL,
						       "block 4, row 1, symbol" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SEND_SEGMENT, erasure_code_on_send),
		NOPAL_ON(SEGMENT_FROM_NET, erasure_code_on_data, .after = "duplicate_filter"),
		NOPAL_ON_OWN(ERASURE_CODE_PARITY, erasure_code_on_parity)),
	.raises = NOPAL_RAISES("SEGMENT_FROM_NET"),
	.state_size = sizeof(struct erasure_code),
};
