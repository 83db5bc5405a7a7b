/* SPDX-License-Identifier: MIT */
/*
 * islands.h -- which ranges of a file are there, beyond the first gap.  A
 * bounded list: a peer cannot make it long.
 */
#ifndef NOPAL_ISLANDS_H
#define NOPAL_ISLANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ISLANDS_MOST = 1024 };

struct island {
	uint64_t from, end;
};

struct islands {
	size_t count;
	struct island list[ISLANDS_MOST]; /* in order, apart from each other */
};

/* Puts [from, end) among them; false: it overlaps, or they are too many. */
bool islands_add(struct islands *islands, uint64_t from, uint64_t end);
/* The first one is no island any more. */
void islands_drop_first(struct islands *islands);

#endif
