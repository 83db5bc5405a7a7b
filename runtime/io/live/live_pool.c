/* SPDX-License-Identifier: MIT */
/*
 * live_pool.c -- blocks that datagrams land in.
 *
 * A block holds several receives, so that a kept reference to one of them pins a small
 * neighbourhood and not a block of its own.  Blocks come back in any order; a few are kept, so that
 * the same warm memory is used again.
 */
#include <stdlib.h>

#include "io/live/live.h"

struct live_block {
	struct nopal_buffer buffer; /* first: a buffer is its block */
	struct live_block *next;
	uint8_t bytes[LIVE_BLOCK_BYTES];
};

struct live_pool {
	struct live_block *free;
	uint32_t free_count, outside;
	bool dropped;
};

struct live_pool *nopal__live_pool_new(void)
{
	return calloc(1, sizeof(struct live_pool));
}

static void live_pool_empty(struct live_pool *pool)
{
	while (pool->free) {
		struct live_block *block = pool->free;

		pool->free = block->next;
		free(block);
	}
	pool->free_count = 0;
}

void nopal__live_pool_drop(struct live_pool *pool)
{
	pool->dropped = true;
	live_pool_empty(pool);
	if (pool->outside == 0)
		free(pool);
}

static void live_pool_back(struct nopal_buffer *buffer)
{
	struct live_block *block = (struct live_block *)buffer;
	struct live_pool *pool = buffer->owner;

	pool->outside--;
	if (pool->dropped || pool->free_count >= LIVE_POOL_BLOCKS) {
		free(block);
	} else {
		block->next = pool->free;
		pool->free = block;
		pool->free_count++;
	}
	if (pool->dropped && pool->outside == 0)
		free(pool);
}

static struct live_block *live_pool_pop(struct live_pool *pool)
{
	struct live_block *block = pool->free;

	if (!block)
		return malloc(sizeof(*block));
	pool->free = block->next;
	pool->free_count--;
	return block;
}

struct nopal_buffer *nopal__live_pool_take(struct live_pool *pool)
{
	struct live_block *block = live_pool_pop(pool);

	if (!block)
		return NULL;
	pool->outside++;
	block->next = NULL;
	block->buffer = (struct nopal_buffer){
		.references = 1,
		.capacity = LIVE_BLOCK_BYTES,
		.bytes = block->bytes,
		.release = live_pool_back,
		.owner = pool,
	};
	return &block->buffer;
}
