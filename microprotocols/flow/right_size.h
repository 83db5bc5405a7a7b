/* SPDX-License-Identifier: MIT */
/*
 * right_size.h -- how much room a receiver needs: three times what leaves its buffer in a round
 * trip, and twice that while it grows.
 *
 * Two of the three are for the sender, which has as much under way (buffer_sizing.c); the third is
 * for the time until it hears of the next edge: segments under way need not wait for that, too.  A
 * window that grows has grown once more by then.
 *
 * A receiver that never sends has no round trips to measure.  But segments beyond an edge can only
 * come when the sender has heard of the next one: from telling that until the first such number
 * arrives is a round trip, and longer where the sender did not wait for it.  So the least one
 * counts.  It is not kept for ever, for a path may become longer: with a window of three round
 * trips, told by quarters, a sender that never waits takes two and a quarter from edge to edge, and
 * the least of late, divided by that, takes its place.  One that does wait has more room then.
 *
 * Numbers are those of segments, from the first that came.  After Fisk and Feng, Dynamic
 * right-sizing in TCP (LACSI 2001).
 */
#ifndef NOPAL_RIGHT_SIZE_H
#define NOPAL_RIGHT_SIZE_H

#include <nopal/microprotocol.h>

struct right_size {
	uint64_t max;	 /* numbers that left in a round trip */
	uint64_t before; /* the same, as this half of one began */
	/* how many had left, and when: as the last half began, and as this one did; at 0: neither
	 * has */
	struct right_size_half {
		uint64_t left;
		int64_t began_ns;
	} last, now;
	int64_t used_ns;       /* when something left last */
	uint64_t left, window; /* as it was looked at last; 0: never */
	bool growing;

	bool waits;	   /* for a number that ends a sample: */
	uint64_t beyond;   /* ... this one */
	int64_t told_ns;   /* ... since then */
	int64_t trip_ns;   /* 0: none was measured */
	int64_t lately_ns; /* the least since then; 0: none */
	int64_t aged_ns;
};

/* Numbers from `edge` on were not granted before this is told. */
void nopal__right_size_told(struct right_size *size, int64_t now_ns, uint64_t edge,
			    uint64_t granted);
/* Where it waits for this number, or for one below. */
void nopal__right_size_arrived(struct right_size *size, int64_t now_ns);
/* The window, where so many have come and left again by now. */
uint64_t nopal__right_size_window(struct right_size *size, int64_t now_ns, uint64_t left,
				  uint64_t min, uint64_t max);
/* Nothing comes for a while: it keeps what is of use after that. */
void nopal__right_size_idle(struct right_size *size);
/* How far the edge moves before that is told. */
uint64_t nopal__right_size_step(const struct right_size *size);
/* So many have to leave before it is worth a look. */
uint64_t nopal__right_size_look(const struct right_size *size);

#endif
