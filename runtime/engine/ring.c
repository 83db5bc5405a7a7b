/* SPDX-License-Identifier: MIT */
/*
 * ring.c -- rings and arrays that grow in a session's memory: see ring.h, and nopal_array_room().
 */
#include <string.h>

#include "engine/ring.h"

enum { RING_FIRST_ROOM = 16 };

bool nopal__ring_grow(struct nopal_session *session, void *ring, uint32_t *head, uint32_t *room,
		      size_t size)
{
	size_t behind = (*room - *head) * size, before = *head * size;
	uint32_t grown = *room ? *room * 2 : RING_FIRST_ROOM;
	char *old, *doubled = grown > *room ? nopal_alloc(session, grown * size) : NULL;

	if (!doubled)
		return false;
	memcpy(&old, ring, sizeof(old));
	if (old) {
		memcpy(doubled, old + before, behind);
		memcpy(doubled + behind, old, before);
		nopal_free(session, old);
	}
	memcpy(ring, &doubled, sizeof(doubled));
	*room = grown;
	*head = 0;
	return true;
}

bool nopal_array_room(struct nopal_session *session, void *array, uint32_t *room, uint32_t count,
		      size_t size)
{
	uint32_t grown = *room ? *room : RING_FIRST_ROOM;
	void *old, *wider;

	if (count <= *room)
		return true;
	while (grown < count && grown <= UINT32_MAX / 2)
		grown *= 2;
	wider = grown < count ? NULL : nopal_alloc(session, grown * size);
	if (!wider)
		return false;
	memcpy(&old, array, sizeof(old));
	if (old)
		memcpy(wider, old, *room * size);
	nopal_free(session, old);
	memcpy(array, &wider, sizeof(wider));
	*room = grown;
	return true;
}
