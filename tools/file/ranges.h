/* SPDX-License-Identifier: MIT */
/*
 * ranges.h -- which ranges of a file are there, beyond the first gap.  A bounded list: a peer
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
/* Of ranges that may overlap, as several hold them: puts them in order; says how many bytes they
 * have together, once they are; and where the first gap is at or after `from` in what is `size`
 * long.  False: there is none. */
void ranges_sort(struct range *ranges, size_t count);
uint64_t ranges_bytes(const struct range *ranges, size_t count);
bool ranges_gap(const struct range *ranges, size_t count, uint64_t from, uint64_t size,
		struct range *ret_gap);
/* The first one is no range any more. */
void ranges_drop_first(struct ranges *ranges);

#endif
