/* SPDX-License-Identifier: MIT */
/*
 * islands.h -- which ranges of a file are there, beyond the first gap.  A bounded list: a peer
 * cannot make it long.
 */
#ifndef NOPAL_ISLANDS_H
#define NOPAL_ISLANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISLANDS_MAX = 1024 };

struct island {
	uint64_t from, end;
};

struct islands {
	size_t count;
	struct island list[ISLANDS_MAX]; /* in order, apart from each other */
};

/* Puts [from, end) among them; false: it overlaps, or they are too many. */
bool islands_add(struct islands *islands, uint64_t from, uint64_t end);
/* Of ranges that may overlap, as several hold them: puts them in order; says how many bytes they
 * have together, once they are; and where the first gap is at or after `from` in what is `size`
 * long.  False: there is none. */
void islands_sort(struct island *ranges, size_t count);
uint64_t islands_bytes(const struct island *ranges, size_t count);
bool islands_gap(const struct island *ranges, size_t count, uint64_t from, uint64_t size,
		 struct island *ret_gap);
/* The first one is no island any more. */
void islands_drop_first(struct islands *islands);

#endif
