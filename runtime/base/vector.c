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
	char *elements;

	if (wanted <= *room)
		return true;
	if (grown < VECTOR_FIRST_ROOM)
		grown = VECTOR_FIRST_ROOM;
	memcpy(&elements, array, sizeof(elements));
	elements = reallocarray(elements, grown, size);
	if (!elements)
		return false;
	memset(elements + *room * size, 0, (grown - *room) * size);
	memcpy(array, &elements, sizeof(elements));
	*room = grown;
	return true;
}
