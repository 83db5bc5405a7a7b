/* SPDX-License-Identifier: MIT */
/*
 * fec.h -- the symbols of one block of an erasure code; the state of forward_error_correction, and
 * its blocks, fec_blocks.c.
 *
 *   sources arrive, in any order      parity arrives: it tells the shape
 *          +---------------------------------+
 *          |  as many symbols as the block has sources: nothing more is needed
 *          v
 *        closed, for good: rebuilt where a source was missing
 *
 * A block never stores more than k symbols, in the order of arrival.
 */
#ifndef NOPAL_FEC_H
#define NOPAL_FEC_H

#include <nopal/microprotocol.h>

#include "erasure.h"
#include "symbol.h"

enum { NOPAL__BLOCK_WORD_BITS = 64 };

struct nopal__block {
	uint64_t number;   /* 0: not used yet */
	uint32_t sources;  /* k of this block; 0 until parity tells */
	uint32_t parities; /* that were made of it, likewise */
	uint32_t length;   /* bytes of a symbol; 0 until parity tells */
	uint32_t arrived;  /* symbols that are stored */
	bool closed;	   /* no use for more */
	uint64_t present[(NOPAL__ERASURE_MAX + 1) / NOPAL__BLOCK_WORD_BITS];
	uint32_t *used;	  /* bytes of each symbol stored */
	uint8_t *index;	  /* which symbol it is: parity from k on */
	uint8_t *symbols; /* k places of `room` bytes */
	uint32_t room;
};

/* An empty block of at most k symbols of `room` bytes, in the memory that it had; false: over
 * budget. */
static inline bool nopal__block_begin(struct nopal_session *session, struct nopal__block *block,
				      uint64_t number, uint32_t k, uint32_t room)
{
	uint32_t *memory = block->used;

	if (!memory)
		memory = nopal_alloc(
			session, k * (sizeof(*block->used) + sizeof(*block->index) + (size_t)room));
	if (!memory)
		return false;
	*block = (struct nopal__block){
		.number = number,
		.used = memory,
		.index = (uint8_t *)(memory + k),
		.symbols = (uint8_t *)(memory + k) + k,
		.room = room,
	};
	return true;
}

static inline bool nopal__block_has(const struct nopal__block *block, uint32_t index)
{
	return block->present[index / NOPAL__BLOCK_WORD_BITS] >> index % NOPAL__BLOCK_WORD_BITS & 1;
}

static inline uint8_t *nopal__block_symbol(const struct nopal__block *block, uint32_t place)
{
	return block->symbols + (size_t)place * block->room;
}

/* Parity tells the shape of its block.  All parity must tell the same, and no source may be there
 * that such a block does not have. */
static inline bool nopal__block_agree(struct nopal__block *block, uint32_t sources,
				      uint32_t parities, uint32_t length)
{
	if (block->sources)
		return sources == block->sources && parities == block->parities &&
		       length == block->length;
	for (uint32_t i = 0; i < block->arrived; i++)
		if (block->index[i] >= sources || block->used[i] > length)
			return false;
	block->sources = sources;
	block->parities = parities;
	block->length = length;
	return true;
}

/* The symbol in the next place is `index`, and `bytes` long.  False: it is longer than the block's
 * symbols are. */
static inline bool nopal__block_add(struct nopal__block *block, uint32_t index, uint32_t bytes)
{
	if (block->sources && bytes > block->length)
		return false;
	block->used[block->arrived] = bytes;
	block->index[block->arrived] = (uint8_t)index;
	block->present[index / NOPAL__BLOCK_WORD_BITS] |= UINT64_C(1)
							  << index % NOPAL__BLOCK_WORD_BITS;
	block->arrived++;
	return true;
}

/* Pads the first `sources` symbols; symbol[] points to them. */
static inline void nopal__block_pad(const struct nopal__block *block, uint8_t *symbol[])
{
	for (uint32_t i = 0; i < block->sources; i++) {
		symbol[i] = nopal__block_symbol(block, i);
		memset(symbol[i] + block->used[i], 0, block->length - block->used[i]);
	}
}

enum {
	FEC_SYMBOL_BYTES = 2, /* of a symbol's length, on the wire */
	FEC_HEAD_BYTES = 4,   /* of a parity body */
	FEC_BLOCK_BYTES = 2,  /* of a block number on the wire */
	FEC_FIRST_BLOCK = 1,
};

struct forward_error_correction_parameters {
	int64_t n, k, code, flush_ns, blocks;
};

/* attributes */
enum { FEC_BLOCK, FEC_INDEX, FEC_CUMULATIVE_ACK, FEC_REPAIR_GROUP, FEC_DESTINATION };
enum { FEC_IN_NO_BLOCK = 255 }; /* an index that no segment of a block has */
/* shared variables */
enum {
	FEC_PLAYOUT_DELAY,
	FEC_BLOCK_SEGMENTS,
	FEC_PARITY_SEGMENTS,
	FEC_RESENDS_WAIT,
	FEC_GROUPS_SETTLED,
};
enum { FEC_PARITY }; /* kinds */
enum { FEC_FLUSH };  /* timers */

struct forward_error_correction {
	uint32_t room; /* bytes of a symbol, at most */
	struct nopal__erasure erasure;

	/* the block that transmissions join */
	uint64_t number;
	uint32_t members;	      /* that it has */
	uint32_t parities;	      /* that will be made of it */
	struct nopal_handle *member;  /* k places; while there are any */
	struct nopal__block outgoing; /* the members, packed */
	struct nopal_queue unsettled; /* parity that may still arrive */

	/* blocks that arrive */
	uint64_t newest;
	uint32_t strays;	     /* arrivals in a row that were far from it */
	struct nopal__block *blocks; /* as many as `blocks` says; on first use */
	uint8_t *rebuilt;	     /* n - k symbols; on first use */
};

/* Puts a segment into the next place of a block; returns its bytes there, or 0. The block does not
 * count it yet. */
static inline uint32_t nopal__fec_pack(struct nopal_at at, struct nopal_segment *segment,
				       const struct nopal__block *block)
{
	return nopal__symbol_pack(at, segment, FEC_CUMULATIVE_ACK,
				  nopal__block_symbol(block, block->arrived), block->room);
}

/* A segment joins the block, and begins one where there is none; false: over budget. */
bool nopal__fec_join(struct nopal_at at, struct nopal_segment *segment);
/* Makes the parity of the members and lets them go; parity leaves by `leave`. */
void nopal__fec_close_block(struct nopal_at at, void (*leave)(struct nopal_session *session,
							      struct nopal_segment *segment));

/* Tells the resends that wait of which blocks all parity has arrived or never will. */
void nopal__fec_settle(struct nopal_at at);
/* Gives back the memory that the next block allocates again. */
void nopal__fec_sender_idle(struct nopal_at at);

/* The block of an arriving segment; NULL when it is too old, out of reach, has no use for more, or
 * memory is short. */
struct nopal__block *nopal__fec_find(struct nopal_at at, uint64_t number);
/* The symbol in the next place of the block, of `bytes` bytes, has arrived: this may rebuild
 * others. */
void nopal__fec_arrived(struct nopal_at at, struct nopal__block *block, uint32_t index,
			uint32_t bytes);
/* Gives back the memory that the next arrival allocates again. */
void nopal__fec_receiver_idle(struct nopal_at at);

#endif
