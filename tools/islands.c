/* SPDX-License-Identifier: MIT */
/*
 * islands.c -- which ranges of a file are there, beyond the first gap.
 */
#include <string.h>

#include "islands.h"

bool islands_add(struct islands *islands, uint64_t from, uint64_t end)
{
	struct island *list = islands->list;
	size_t at = islands->count;

	while (at > 0 && list[at - 1].from >= from)
		at--;
	if ((at > 0 && list[at - 1].end > from) ||
	    (at < islands->count && list[at].from < end))
		return false;
	if (at > 0 && list[at - 1].end == from) {
		list[at - 1].end = end;
		return true;
	}
	if (islands->count == ISLANDS_MOST)
		return false;
	memmove(&list[at + 1], &list[at],
		(islands->count - at) * sizeof(*list));
	list[at] = (struct island){ .from = from, .end = end };
	islands->count++;
	return true;
}

void islands_drop_first(struct islands *islands)
{
	islands->count--;
	memmove(islands->list, islands->list + 1,
		islands->count * sizeof(islands->list[0]));
}
