/* SPDX-License-Identifier: MIT */
/*
 * pool.h -- objects of one size, for all sessions of an endpoint: pool.c.
 */
#ifndef NOPAL_POOL_H
#define NOPAL_POOL_H

#include <nopal/microprotocol.h>

enum {
	NOPAL_CACHE_LINE = 64,
	NOPAL_POOL_CHUNK_SHIFT = 6,
	NOPAL_POOL_CHUNK = 1 << NOPAL_POOL_CHUNK_SHIFT,
	NOPAL_POOL_PREFETCH_LINES = 4,
};

/* Objects of one size, of all sessions of an endpoint; never moved, and named by handles.  Before
 * each object, out of its user's sight, lies its head. */
struct nopal_pool {
	struct nopal_pool *next; /* of another size */
	char **chunks;
	uint32_t chunk_count, object_bytes;
	uint32_t *free; /* stack of free indices */
	uint32_t free_count, made;
};
struct nopal_object {
	struct nopal_handle handle;
	struct nopal_object *older, *newer; /* of the same session */
};

/* The objects of one session in a pool. */
struct nopal_objects {
	struct nopal_pool *pool;
	struct nopal_object *newest;
	uint32_t alive;
};

/* The pool of objects of this size in the list, which gets it where it has none; NULL: out of
 * memory. */
struct nopal_pool *nopal__pool_of(struct nopal_pool **pools, uint32_t object_bytes);
void nopal__pools_free(struct nopal_pool **pools);
/* NULL: out of memory.  The object is not zeroed: its maker sets every field. */
void *nopal__pool_take(struct nopal_objects *objects);
void nopal__pool_give(struct nopal_objects *objects, void *object);
/* To another session, of the same pool: the old handle names the object no more. */
struct nopal_handle nopal__pool_move(struct nopal_objects *from, struct nopal_objects *to,
				     void *object);
/* The living objects of a session in the order of their making; NULL: no more. */
void *nopal__pool_oldest(const struct nopal_objects *objects);
void *nopal__pool_newer(const void *object);

static inline struct nopal_object *nopal__object_at(const struct nopal_pool *pool, uint32_t index)
{
	return (void *)(pool->chunks[index >> NOPAL_POOL_CHUNK_SHIFT] +
			(size_t)(index & (NOPAL_POOL_CHUNK - 1)) * pool->object_bytes);
}

static inline struct nopal_object *nopal__object_of(const void *object)
{
	return (struct nopal_object *)(uintptr_t)object - 1;
}

static inline struct nopal_handle nopal__pool_handle(const void *object)
{
	return nopal__object_of(object)->handle;
}

/* NULL: the object that the handle named is gone. */
static inline void *nopal__pool_find(const struct nopal_objects *objects,
				     struct nopal_handle handle)
{
	const struct nopal_pool *pool = objects->pool;
	struct nopal_object *object;

	if (handle.index >= pool->made || !(handle.generation & 1))
		return NULL;
	object = nopal__object_at(pool, handle.index);
	return object->handle.generation == handle.generation ? object + 1 : NULL;
}

/* A segment with the attributes of most plans; a longer one comes by itself. */
static inline void nopal__object_prefetch(const struct nopal_object *object)
{
	for (uint32_t line = 0; line < NOPAL_POOL_PREFETCH_LINES; line++)
		__builtin_prefetch((const char *)object + line * NOPAL_CACHE_LINE, 1);
}

#endif
