/* SPDX-License-Identifier: MIT */
/*
 * pool.h -- objects of one size, for all sessions of an endpoint: memory.c.
 */
#ifndef NOPAL_POOL_H
#define NOPAL_POOL_H

#include <stdint.h>

enum { NOPAL_CACHE_LINE = 64 };

struct nopal_handle;

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
	uint32_t generation; /* odd: it lives */
	uint32_t index;
	struct nopal_object *older, *newer; /* of the same session */
};

/* What one session has of a pool. */
struct nopal_objects {
	struct nopal_pool *pool;
	struct nopal_object *newest;
	uint32_t alive;
};

/* The pool of objects of this size in the list, which gets it where it has none; NULL: out of
 * memory. */
struct nopal_pool *nopal__pool_of(struct nopal_pool **pools, uint32_t object_bytes);
void nopal__pools_free(struct nopal_pool **pools);
void *nopal__pool_take(struct nopal_objects *objects, struct nopal_handle *ret_handle);
void nopal__pool_give(struct nopal_objects *objects, void *object);
/* To another session, of the same pool: who has its old handle finds it no more. */
struct nopal_handle nopal__pool_move(struct nopal_objects *from, struct nopal_objects *to,
				     void *object);
/* NULL: what the handle named is gone. */
void *nopal__pool_find(const struct nopal_objects *objects, struct nopal_handle handle);
/* Starts to fetch the object at this index; any index will do. */
void nopal__pool_prefetch(const struct nopal_objects *objects, uint32_t index);
/* The living objects of a session in the order of their making; NULL: no more. */
void *nopal__pool_oldest(const struct nopal_objects *objects);
void *nopal__pool_newer(const void *object);

#endif
