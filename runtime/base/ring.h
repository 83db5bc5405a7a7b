/* SPDX-License-Identifier: MIT */
/*
 * ring.h -- growth of a ring, first in, first out, whose elements are the caller's.
 */
#ifndef NOPAL_RING_H
#define NOPAL_RING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NOPAL__RING_FIRST_ROOM = 64 }; /* power of two, as all rooms after it */

/* Doubles a full ring of `*room` elements of `size` bytes, whose first one is at place `*first` and
 * comes to 0.  Returns the new ring in place of the old one; NULL: out of memory, nothing changed. */
static inline void *nopal__ring_grow(void *ring, uint32_t *first, uint32_t *room, size_t size)
{
	uint32_t wider = *room ? 2 * *room : NOPAL__RING_FIRST_ROOM;
	size_t before = *first * size, behind = *room * size - before;
	uint8_t *grown = malloc(wider * size);

	if (!grown)
		return NULL;
	if (ring) {
		memcpy(grown, (uint8_t *)ring + before, behind);
		memcpy(grown + behind, ring, before);
	}
	free(ring);
	*first = 0;
	*room = wider;
	return grown;
}

#endif
