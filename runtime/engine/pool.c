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

enum {
	POOL_CHUNK_SHIFT = 6,
	POOL_CHUNK = 1 << POOL_CHUNK_SHIFT,
	PREFETCH_LINES = 4,
};

static struct nopal_object *object_at(const struct nopal_pool *pool, uint32_t index)
{
	return (void *)(pool->chunks[index >> POOL_CHUNK_SHIFT] +
			(size_t)(index & (POOL_CHUNK - 1)) * pool->object_bytes);
}

static struct nopal_object *object_of(const void *object)
{
	return (struct nopal_object *)(uintptr_t)object - 1;
}

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
	for (uint32_t i = POOL_CHUNK; i-- > 0;) {
		object_at(pool, pool->made + i)->index = pool->made + i;
		pool->free[pool->free_count++] = pool->made + i;
	}
	pool->made += POOL_CHUNK;
	return true;
}

/* A segment with the attributes of most plans; what is longer comes by itself. */
static void object_prefetch(const struct nopal_object *object)
{
	for (uint32_t line = 0; line < PREFETCH_LINES; line++)
		__builtin_prefetch((const char *)object + line * NOPAL_CACHE_LINE, 1);
}

NOPAL_HOT void nopal__pool_prefetch(const struct nopal_objects *objects, uint32_t index)
{
	if (index < objects->pool->made)
		object_prefetch(object_at(objects->pool, index));
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

/* The object is not zeroed: its maker sets every field.  The one that is taken next begins to be
 * fetched. */
NOPAL_HOT void *nopal__pool_take(struct nopal_objects *objects, struct nopal_handle *ret_handle)
{
	struct nopal_pool *pool = objects->pool;
	struct nopal_object *object;

	if (pool->free_count == 0 && !pool_grow(pool))
		return NULL;
	ret_handle->index = pool->free[--pool->free_count];
	if (pool->free_count)
		object_prefetch(object_at(pool, pool->free[pool->free_count - 1]));
	object = object_at(pool, ret_handle->index);
	ret_handle->generation = ++object->generation;
	object_link(objects, object);
	return object + 1;
}

NOPAL_HOT void nopal__pool_give(struct nopal_objects *objects, void *given)
{
	struct nopal_object *object = object_of(given);
	struct nopal_pool *pool = objects->pool;

	object->generation++;
	object_unlink(objects, object);
	pool->free[pool->free_count++] = object->index;
}

NOPAL_HOT struct nopal_handle nopal__pool_move(struct nopal_objects *from, struct nopal_objects *to,
					       void *moved)
{
	struct nopal_object *object = object_of(moved);

	object->generation += 2; /* odd: it lives */
	object_unlink(from, object);
	object_link(to, object);
	return (struct nopal_handle){ object->index, object->generation };
}

NOPAL_HOT void *nopal__pool_find(const struct nopal_objects *objects, struct nopal_handle handle)
{
	const struct nopal_pool *pool = objects->pool;
	struct nopal_object *object;

	if (handle.index >= pool->made || !(handle.generation & 1))
		return NULL;
	object = object_at(pool, handle.index);
	return object->generation == handle.generation ? object + 1 : NULL;
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
	struct nopal_object *newer = object_of(object)->newer;

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
