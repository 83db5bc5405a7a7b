/* SPDX-License-Identifier: MIT */
/*
 * memory.c -- everything a session owns comes from here and is charged to its
 * budget; closing is one release.  Pools hold segments and messages: objects
 * never move, and a handle names one only while it lives.
 */
#include <string.h>

#include "session.h"

enum {
	POOL_CHUNK_SHIFT = 6,
	POOL_CHUNK = 1 << POOL_CHUNK_SHIFT,
};

bool nopal__charge(struct nopal_core *core, uint64_t bytes)
{
	if (core->bytes_held + bytes > core->budget.bytes)
		return false;
	core->bytes_held += bytes;
	return true;
}

void nopal__credit(struct nopal_core *core, uint64_t bytes)
{
	core->bytes_held -= bytes;
}

/* Without a session the memory belongs to the caller alone. */
void *nopal_alloc(struct nopal_session *session, size_t bytes)
{
	struct nopal_core *core = session ? nopal__core(session) : NULL;
	struct nopal_memory *memory;

	if (core && !nopal__charge(core, bytes))
		return NULL;
	memory = calloc(1, sizeof(*memory) + bytes);
	if (!memory) {
		if (core)
			nopal__credit(core, bytes);
		return NULL;
	}
	memory->bytes = bytes;
	if (core) {
		memory->next = core->memory;
		if (core->memory)
			core->memory->previous = memory;
		core->memory = memory;
	}
	return memory + 1;
}

void nopal_free(struct nopal_session *session, void *bytes)
{
	struct nopal_core *core = session ? nopal__core(session) : NULL;
	struct nopal_memory *memory = bytes;

	if (!bytes)
		return;
	memory--;
	if (core) {
		nopal__credit(core, memory->bytes);
		if (memory->previous)
			memory->previous->next = memory->next;
		else
			core->memory = memory->next;
		if (memory->next)
			memory->next->previous = memory->previous;
	}
	free(memory);
}

void nopal__memory_release(struct nopal_core *core)
{
	while (core->memory) {
		struct nopal_memory *next = core->memory->next;

		nopal__credit(core, core->memory->bytes);
		free(core->memory);
		core->memory = next;
	}
}

/* An object is its generation word and then what the caller sees. */
struct pool_object {
	uint32_t generation;
	uint32_t reserved;
};

int nopal__pool_init(struct nopal_pool *pool, uint32_t object_bytes)
{
	memset(pool, 0, sizeof(*pool));
	pool->object_bytes =
		(uint32_t)((object_bytes + sizeof(struct pool_object) + 15u) &
			   ~15u);
	return 0;
}

static struct pool_object *pool_object(const struct nopal_pool *pool,
				       uint32_t index)
{
	return (void *)(pool->chunks[index >> POOL_CHUNK_SHIFT] +
			(size_t)(index & (POOL_CHUNK - 1)) *
				pool->object_bytes);
}

static bool pool_grow(struct nopal_pool *pool)
{
	uint32_t chunks = pool->chunk_count + 1;
	char **table = realloc(pool->chunks, chunks * sizeof(*table));
	uint32_t *stack;

	if (!table)
		return false;
	pool->chunks = table;
	stack = realloc(pool->free, chunks * POOL_CHUNK * sizeof(*stack));
	if (!stack)
		return false;
	pool->free = stack;
	table[chunks - 1] = calloc(POOL_CHUNK, pool->object_bytes);
	if (!table[chunks - 1])
		return false;
	pool->chunk_count = chunks;
	for (uint32_t i = POOL_CHUNK; i-- > 0;)
		pool->free[pool->free_count++] = pool->made + i;
	pool->made += POOL_CHUNK;
	return true;
}

void nopal__pool_prefetch(const struct nopal_pool *pool, uint32_t index)
{
	const char *object;

	if (index >= pool->made)
		return;
	object = (const char *)pool_object(pool, index);
	for (uint32_t at = 0; at < pool->object_bytes; at += NOPAL_CACHE_LINE)
		__builtin_prefetch(object + at, 1);
}

/* The object is not zeroed: its maker sets every field.  The one that is taken
 * next begins to be fetched. */
void *nopal__pool_take(struct nopal_pool *pool, struct nopal_handle *ret_handle)
{
	struct pool_object *object;

	if (pool->free_count == 0 && !pool_grow(pool))
		return NULL;
	ret_handle->index = pool->free[--pool->free_count];
	if (pool->free_count)
		nopal__pool_prefetch(pool, pool->free[pool->free_count - 1]);
	object = pool_object(pool, ret_handle->index);
	ret_handle->generation = ++object->generation;
	pool->alive++;
	return object + 1;
}

void nopal__pool_give(struct nopal_pool *pool, struct nopal_handle handle)
{
	pool_object(pool, handle.index)->generation++;
	pool->free[pool->free_count++] = handle.index;
	pool->alive--;
}

void *nopal__pool_find(const struct nopal_pool *pool,
		       struct nopal_handle handle)
{
	struct pool_object *object;

	if (handle.index >= pool->made || !(handle.generation & 1))
		return NULL;
	object = pool_object(pool, handle.index);
	return object->generation == handle.generation ? object + 1 : NULL;
}

void *nopal__pool_at(const struct nopal_pool *pool, uint32_t index)
{
	struct pool_object *object = pool_object(pool, index);

	return object->generation & 1 ? object + 1 : NULL;
}

void nopal__pool_fini(struct nopal_pool *pool)
{
	for (uint32_t i = 0; i < pool->chunk_count; i++)
		free(pool->chunks[i]);
	free(pool->chunks);
	free(pool->free);
	memset(pool, 0, sizeof(*pool));
}
