/* SPDX-License-Identifier: MIT */
/*
 * islands.c -- which ranges of a file are there, beyond the first gap.
 */
#include <stdlib.h>
#include <string.h>

#include "file/islands.h"

/* Joins a range with the next where the gap between both has closed. */
static void islands_join(struct islands *islands, size_t at)
{
	struct island *list = islands->list;

	if (at + 1 == islands->count || list[at].end < list[at + 1].from)
		return;
	list[at].end = list[at + 1].end;
	islands->count--;
	memmove(&list[at + 1], &list[at + 2], (islands->count - at - 1) * sizeof(*list));
}

bool islands_add(struct islands *islands, uint64_t from, uint64_t end)
{
	struct island *list = islands->list;
	size_t at = islands->count;

	while (at > 0 && list[at - 1].from >= from)
		at--;
	if ((at > 0 && list[at - 1].end > from) || (at < islands->count && list[at].from < end))
		return false;
	if (at > 0 && list[at - 1].end == from) {
		list[at - 1].end = end;
		islands_join(islands, at - 1);
		return true;
	}
	if (at < islands->count && list[at].from == end) {
		list[at].from = from;
		return true;
	}
	if (islands->count == ISLANDS_MAX)
		return false;
	memmove(&list[at + 1], &list[at], (islands->count - at) * sizeof(*list));
	list[at] = (struct island){ .from = from, .end = end };
	islands->count++;
	return true;
}

void islands_drop_first(struct islands *islands)
{
	islands->count--;
	memmove(islands->list, islands->list + 1, islands->count * sizeof(islands->list[0]));
}

static int islands_by_from(const void *a, const void *b)
{
	const struct island *one = a, *other = b;

	return (one->from > other->from) - (one->from < other->from);
}

void islands_sort(struct island *ranges, size_t count)
{
	if (count)
		qsort(ranges, count, sizeof(*ranges), islands_by_from);
}

uint64_t islands_bytes(const struct island *ranges, size_t count)
{
	uint64_t bytes = 0, end = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t from = ranges[i].from > end ? ranges[i].from : end;

		if (ranges[i].end <= from)
			continue;
		bytes += ranges[i].end - from;
		end = ranges[i].end;
	}
	return bytes;
}

bool islands_gap(const struct island *ranges, size_t count, uint64_t from, uint64_t size,
		 struct island *ret_gap)
{
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].from > from) {
			*ret_gap = (struct island){ .from = from, .end = ranges[i].from };
			return true;
		}
		if (ranges[i].end > from)
			from = ranges[i].end;
	}
	if (from >= size)
		return false;
	*ret_gap = (struct island){ .from = from, .end = size };
	return true;
}
