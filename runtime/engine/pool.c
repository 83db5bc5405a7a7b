/* SPDX-License-Identifier: MIT */
/*
 * pool.c -- segments and messages come from pools of the endpoint, so that a session which has none
 * of them holds no memory for them.  Objects never move, and a handle names one only while it
 * lives.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/pool.h"
#include "plan/fused.h"

struct nopal_pool *nopal__pool_of(struct nopal_pool **pools, uint32_t object_bytes)
{
	uint32_t bytes = (uint32_t)((object_bytes + sizeof(struct nopal_object) + 15u) & ~15u);
	struct nopal_pool *pool = *pools;

	while (pool && pool->object_bytes != bytes)
		pool = pool->next;
	if (pool)
		return pool;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return NULL;
	pool->object_bytes = bytes;
	pool->next = *pools;
	*pools = pool;
	return pool;
}

/* Rare, and so apart from nopal__pool_take, which needs no stack without it. */
static __attribute__((noinline)) bool pool_grow(struct nopal_pool *pool)
{
	uint32_t chunks = pool->chunk_count + 1;
	char **table = realloc(pool->chunks, chunks * sizeof(*table));
	uint32_t *stack;

	if (!table)
		return false;
	pool->chunks = table;
	stack = realloc(pool->free, chunks * NOPAL_POOL_CHUNK * sizeof(*stack));
	if (!stack)
		return false;
	pool->free = stack;
	table[chunks - 1] = calloc(NOPAL_POOL_CHUNK, pool->object_bytes);
	if (!table[chunks - 1])
		return false;
	pool->chunk_count = chunks;
	for (uint32_t i = NOPAL_POOL_CHUNK; i-- > 0;) {
		nopal__object_at(pool, pool->made + i)->handle.index = pool->made + i;
		pool->free[pool->free_count++] = pool->made + i;
	}
	pool->made += NOPAL_POOL_CHUNK;
	return true;
}

static inline void object_link(struct nopal_objects *objects, struct nopal_object *object)
{
	object->older = objects->newest;
	object->newer = NULL;
	if (objects->newest)
		objects->newest->newer = object;
	objects->newest = object;
	objects->alive++;
}

static inline void object_unlink(struct nopal_objects *objects, struct nopal_object *object)
{
	if (object->older)
		object->older->newer = object->newer;
	if (object->newer)
		object->newer->older = object->older;
	else
		objects->newest = object->older;
	objects->alive--;
}

/* The object that is taken next begins to be fetched. */
NOPAL_HOT void *nopal__pool_take(struct nopal_objects *objects)
{
	struct nopal_pool *pool = objects->pool;
	struct nopal_object *object;

	if (pool->free_count == 0 && !pool_grow(pool))
		return NULL;
	object = nopal__object_at(pool, pool->free[--pool->free_count]);
	if (pool->free_count)
		nopal__object_prefetch(nopal__object_at(pool, pool->free[pool->free_count - 1]));
	object->handle.generation++;
	object_link(objects, object);
	return object + 1;
}

NOPAL_HOT void nopal__pool_give(struct nopal_objects *objects, void *given)
{
	struct nopal_object *object = nopal__object_of(given);
	struct nopal_pool *pool = objects->pool;

	object->handle.generation++;
	object_unlink(objects, object);
	pool->free[pool->free_count++] = object->handle.index;
}

NOPAL_HOT struct nopal_handle nopal__pool_move(struct nopal_objects *from, struct nopal_objects *to,
					       void *moved)
{
	struct nopal_object *object = nopal__object_of(moved);

	object->handle.generation += 2; /* odd: it lives */
	object_unlink(from, object);
	object_link(to, object);
	return object->handle;
}

void *nopal__pool_oldest(const struct nopal_objects *objects)
{
	struct nopal_object *object = objects->newest;

	while (object && object->older)
		object = object->older;
	return object ? object + 1 : NULL;
}

void *nopal__pool_newer(const void *object)
{
	struct nopal_object *newer = nopal__object_of(object)->newer;

	return newer ? newer + 1 : NULL;
}

void nopal__pools_free(struct nopal_pool **pools)
{
	while (*pools) {
		struct nopal_pool *pool = *pools;

		*pools = pool->next;
		for (uint32_t i = 0; i < pool->chunk_count; i++)
			free(pool->chunks[i]);
		free(pool->chunks);
		free(pool->free);
		free(pool);
	}
}
