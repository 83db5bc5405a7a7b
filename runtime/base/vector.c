/* SPDX-License-Identifier: MIT */
/*
 * vector.c -- arrays of the allocator's that grow at their end: see vector.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

enum { VECTOR_FIRST_ROOM = 8 };

bool nopal__vector_room(void *array, size_t *room, size_t wanted, size_t size)
{
	size_t grown = 2 * *room > wanted ? 2 * *room : wanted;
	size_t bytes;
	char *elements;

	if (wanted <= *room)
		return true;
	if (grown < VECTOR_FIRST_ROOM)
		grown = VECTOR_FIRST_ROOM;
	if (__builtin_mul_overflow(grown, size, &bytes))
		return false;
	memcpy(&elements, array, sizeof(elements));
	elements = realloc(elements, bytes);
	if (!elements)
		return false;
	memset(elements + *room * size, 0, (grown - *room) * size);
	memcpy(array, &elements, sizeof(elements));
	*room = grown;
	return true;
}
