/* SPDX-License-Identifier: MIT */
/*
 * ranges.h -- ranges of a file that are present, beyond the first gap.  A bounded list: a peer
 * cannot make it long.
 */
#ifndef NOPAL_RANGES_H
#define NOPAL_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANGES_MAX = 1024 };

struct range {
	uint64_t from, end;
};

struct ranges {
	size_t count;
	struct range list[RANGES_MAX]; /* in order, apart from each other */
};

/* Puts [from, end) among them; false: it overlaps, or they are too many. */
bool ranges_add(struct ranges *ranges, uint64_t from, uint64_t end);
/* Ranges that may overlap, as several receivers hold them: puts them in order; counts the bytes of
 * ordered ranges; finds their first gap at or after `from`, before `size`.  False: there is
 * none. */
void ranges_sort(struct range *ranges, size_t count);
uint64_t ranges_bytes(const struct range *ranges, size_t count);
bool ranges_gap(const struct range *ranges, size_t count, uint64_t from, uint64_t size,
		struct range *ret_gap);
/* Removes the first range. */
void ranges_drop_first(struct ranges *ranges);

#endif
