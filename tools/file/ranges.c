/* SPDX-License-Identifier: MIT */
/*
 * ranges.c -- ranges of a file that are present, beyond the first gap.
 */
#include <stdlib.h>
#include <string.h>

#include "file/ranges.h"

bool ranges_add(struct ranges *ranges, uint64_t from, uint64_t end)
{
	struct range *list = ranges->list;
	size_t at = ranges->count;

	while (at > 0 && list[at - 1].from >= from)
		at--;
	if ((at > 0 && list[at - 1].end > from) || (at < ranges->count && list[at].from < end))
		return false;
	if (at > 0 && list[at - 1].end == from) {
		list[at - 1].end = end;
		if (at == ranges->count || end < list[at].from)
			return true;
		/* The gap before the next range has closed. */
		list[at - 1].end = list[at].end;
		ranges->count--;
		memmove(&list[at], &list[at + 1], (ranges->count - at) * sizeof(*list));
		return true;
	}
	if (at < ranges->count && list[at].from == end) {
		list[at].from = from;
		return true;
	}
	if (ranges->count == RANGES_MAX)
		return false;
	memmove(&list[at + 1], &list[at], (ranges->count - at) * sizeof(*list));
	list[at] = (struct range){ .from = from, .end = end };
	ranges->count++;
	return true;
}

void ranges_drop_first(struct ranges *ranges)
{
	ranges->count--;
	memmove(ranges->list, ranges->list + 1, ranges->count * sizeof(ranges->list[0]));
}

static int ranges_by_from(const void *a, const void *b)
{
	const struct range *one = a, *other = b;

	return (one->from > other->from) - (one->from < other->from);
}

void ranges_sort(struct range *ranges, size_t count)
{
	if (count)
		qsort(ranges, count, sizeof(*ranges), ranges_by_from);
}

uint64_t ranges_bytes(const struct range *ranges, size_t count)
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

bool ranges_gap(const struct range *ranges, size_t count, uint64_t from, uint64_t size,
		struct range *ret_gap)
{
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].from > from) {
			*ret_gap = (struct range){ .from = from, .end = ranges[i].from };
			return true;
		}
		if (ranges[i].end > from)
			from = ranges[i].end;
	}
	if (from >= size)
		return false;
	*ret_gap = (struct range){ .from = from, .end = size };
	return true;
}
