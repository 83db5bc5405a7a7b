/* SPDX-License-Identifier: MIT */
/*
 * arena.c -- memory that is released whole: see arena.h.
 *
 * Every piece is a block of the allocator's, linked to the one before: so tools that watch memory
 * see each, and a failing allocator can fail at each.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/problems.h"

struct nopal_arena_block {
	struct nopal_arena_block *older;
	size_t bytes;
	bool secret;
	_Alignas(max_align_t) char memory[];
};

static void *arena_take(struct nopal_arena *arena, size_t bytes, bool secret)
{
	struct nopal_arena_block *block = NULL;

	if (!arena->failed && bytes <= SIZE_MAX - sizeof(*block))
		block = calloc(1, sizeof(*block) + bytes);
	if (!block) {
		arena->failed = true;
		nopal__problems_no_memory(arena->problems);
		return NULL;
	}
	block->older = arena->newest;
	block->bytes = bytes;
	block->secret = secret;
	arena->newest = block;
	return block->memory;
}

void *nopal__zeroed(struct nopal_arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX; /* which nobody has */
	return arena_take(arena, bytes, false);
}

void *nopal__zeroed_secret(struct nopal_arena *arena, size_t bytes)
{
	return arena_take(arena, bytes, true);
}

/* There is room for the next power of two. */
void *nopal__one_more(struct nopal_arena *arena, void *array, size_t *count, size_t size)
{
	bool power_of_two = (*count & (*count - 1)) == 0;
	char *elements;

	memcpy(&elements, array, sizeof(elements));
	if (power_of_two) {
		char *more = nopal__zeroed(arena, *count ? 2 * *count : 1, size);

		if (!more)
			return NULL;
		if (*count)
			memcpy(more, elements, *count * size);
		elements = more;
		memcpy(array, &elements, sizeof(elements));
	}
	elements += (*count)++ * size;
	return memset(elements, 0, size); /* one may have been dropped there */
}

void nopal__arena_back(struct nopal_arena *arena, const struct nopal_arena_block *mark)
{
	while (arena->newest != mark) {
		struct nopal_arena_block *block = arena->newest;

		arena->newest = block->older;
		if (block->secret)
			explicit_bzero(block->memory, block->bytes);
		free(block);
	}
}

void nopal__arena_release(struct nopal_arena *arena)
{
	nopal__arena_back(arena, NULL);
	arena->failed = false;
}
