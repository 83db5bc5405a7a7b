/* SPDX-License-Identifier: MIT */
/*
 * vector.h -- arrays of the allocator's that grow at their end.
 *
 * An array is a pointer and the number of its places, as fields of the struct that it belongs to,
 * and all zero while it is empty; free() releases it.  Arrays in an arena grow by nopal__one_more
 * (arena.h), rings in a session's memory by nopal__ring_grow (engine/ring.h).
 */
#ifndef NOPAL_VECTOR_H
#define NOPAL_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* At least `wanted` places of `size` bytes in the array to which `array` points, the address of the
 * pointer: &list->entries.  New places are zeroed, and elements move.  False: out of memory, and
 * the array is as it was. */
bool nopal__vector_room(void *array, size_t *room, size_t wanted, size_t size);

#endif
