/* SPDX-License-Identifier: MIT */
/*
 * arrivals.h -- how many packets of a peer arrived, by their numbers: packets may overtake each
 * other by less than `reorder` of them, 63 at most, and a later one counts as lost.
 */
#ifndef NOPAL_ARRIVALS_H
#define NOPAL_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ARRIVALS_RECENT = 64,	/* numbers of which each is known */
	ARRIVALS_FAR = 1 << 16, /* an outage is shorter than that */
	ARRIVALS_STRAYS = 8,	/* in a row show where the peer is */
};

struct arrivals {
	uint64_t latest; /* largest packet number */
	uint64_t recent; /* bit i: latest - i came */
	uint64_t came;
	uint64_t told; /* number of the last report */
	uint32_t strays;
};

/* One number from far away is not believed; where the peer is there, the numbers between say
 * nothing of losses. */
static inline bool arrivals_is_near(struct arrivals *self, uint64_t number)
{
	uint64_t apart = number > self->latest ? number - self->latest : self->latest - number;

	if (apart < ARRIVALS_FAR) {
		self->strays = 0;
		return true;
	}
	if (++self->strays < ARRIVALS_STRAYS)
		return false;
	self->came += number - self->latest; /* modulo, as it is told */
	self->latest = self->told = number;
	self->recent = 0;
	return true;
}

/* Counts a packet, unless it has come before, or so late that it counts as lost. */
static inline void arrivals_note(struct arrivals *self, uint64_t reorder, uint64_t number)
{
	uint64_t ahead, ago, bit;

	if (!arrivals_is_near(self, number))
		return;
	ahead = number > self->latest ? number - self->latest : 0;
	ago = self->latest + ahead - number;
	if (ago >= reorder)
		return;
	self->recent = ahead < ARRIVALS_RECENT ? self->recent << ahead : 0;
	self->latest += ahead;
	bit = UINT64_C(1) << ago;
	self->came += !(self->recent & bit);
	self->recent |= bit;
}

/* How many came up to the number that is told now: the last `reorder` ones are told later. */
static inline uint64_t arrivals_tell(struct arrivals *self, uint64_t reorder)
{
	uint64_t came = self->came;

	for (uint64_t bit = 0; bit < reorder; bit++)
		came -= self->recent >> bit & 1;
	self->told = self->latest - reorder;
	return came;
}

#endif
