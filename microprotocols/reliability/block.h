/* SPDX-License-Identifier: MIT */
/*
 * block.h -- the symbols of one block of an erasure code.
 *
 *   sources arrive, in any order      parity arrives: it tells the shape
 *          +---------------------------------+
 *          |  as many symbols as the block has sources: nothing more is needed
 *          v
 *        closed, for good: rebuilt where a source was missing
 *
 * A block never stores more than k symbols, in the order of arrival.
 */
#ifndef NOPAL_BLOCK_H
#define NOPAL_BLOCK_H

#include <nopal/microprotocol.h>

#include "erasure.h"

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

/* Sources that are not there; returns how many. */
static inline uint32_t nopal__block_missing(const struct nopal__block *block, uint8_t missing[])
{
	uint32_t count = 0;

	for (uint32_t index = 0; index < block->sources; index++)
		if (!nopal__block_has(block, index))
			missing[count++] = (uint8_t)index;
	return count;
}

/* Pads the first `sources` symbols; symbol[] points to them. */
static inline void nopal__block_pad(const struct nopal__block *block, uint8_t *symbol[])
{
	for (uint32_t i = 0; i < block->sources; i++) {
		symbol[i] = nopal__block_symbol(block, i);
		memset(symbol[i] + block->used[i], 0, block->length - block->used[i]);
	}
}

#endif
