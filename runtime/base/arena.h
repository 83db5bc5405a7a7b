/* SPDX-License-Identifier: MIT */
/*
 * arena.h -- memory that is released whole: of a config and of all that is made of it.
 *
 * A config, the composition of it and the built plan are made once, by one caller, before a packet
 * moves; what one of them holds is needed by the next, and they end together.  So all of it comes
 * from one arena.
 *
 * Where the machine has no memory the arena fails, and stays so: it gives no more.  The problems
 * learn of it at once, and take no others, which would be about what is missing.  Who takes an
 * object or a place in an array looks at what it got; texts (text.h) are never NULL, and so need no
 * look.  What was made of a failed arena is thrown away: each phase (reading, composing, building)
 * asks at its end.
 */
#ifndef NOPAL_ARENA_H
#define NOPAL_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct nopal_arena_block;
struct nopal_problems;

/* Zero it first, but for `problems`. */
struct nopal_arena {
	struct nopal_arena_block *newest;
	struct nopal_problems *problems; /* where its failure is one; or NULL */
	bool failed;
};

/* `count` times `size` bytes, zeroed, for any type.  NULL: the arena failed. */
void *nopal__zeroed(struct nopal_arena *arena, size_t count, size_t size);
/* The same, overwritten when it is released: for secrets. */
void *nopal__zeroed_secret(struct nopal_arena *arena, size_t bytes);

/* A new last element, zeroed, of the array to which `array` points, of `*count` elements of `size`
 * bytes; NULL: the arena failed, and the array is as it was. Elements move.  `array` is the address
 * of the pointer: &layer->members. */
void *nopal__one_more(struct nopal_arena *arena, void *array, size_t *count, size_t size);

/* Releases what was taken since `mark`, an earlier value of `newest`. */
void nopal__arena_back(struct nopal_arena *arena, const struct nopal_arena_block *mark);
/* Releases all; then it is as new. */
void nopal__arena_release(struct nopal_arena *arena);

#endif
