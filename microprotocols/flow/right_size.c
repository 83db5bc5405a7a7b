/* SPDX-License-Identifier: MIT */
/* right_size.c -- how much leaves a receiver's buffer in a round trip; see right_size.h. */
#include "right_size.h"

/* Rare beside the packets that pass: not in the middle of what they run through. */
#define RIGHT_SIZE_RARE __attribute__((noinline))

enum {
	RIGHT_SIZE_TRIPS = 3,	    /* of a window */
	RIGHT_SIZE_GROWTH = 2,	    /* of what leaves, in a round trip */
	RIGHT_SIZE_GROWTH_PART = 4, /* more by this: it grows */
	RIGHT_SIZE_STEP_PART = 4,   /* of a window: from edge to edge */
	RIGHT_SIZE_KEPT = RIGHT_SIZE_STEP_PART - 1,
	RIGHT_SIZE_LOOK_PART = 12, /* of a window: from look to look */
	RIGHT_SIZE_IDLE_TRIPS = 4,
	RIGHT_SIZE_SHIFT_MAX = 63,
};
#define RIGHT_SIZE_IDLE_NS NOPAL_SECOND	      /* in which half is forgotten */
#define RIGHT_SIZE_AGE_NS  (5 * NOPAL_SECOND) /* of a round trip */

RIGHT_SIZE_RARE void nopal__right_size_told(struct right_size *size, int64_t now_ns, uint64_t edge,
					    uint64_t granted)
{
	if (size->waits || granted == edge)
		return;
	size->waits = true;
	size->beyond = edge;
	size->told_ns = now_ns;
}

/* How often half is to be forgotten: for every second without use, or every four round trips. */
static int64_t right_size_idle(const struct right_size *size, int64_t now_ns)
{
	int64_t interval_ns = RIGHT_SIZE_IDLE_TRIPS * size->trip_ns;
	int64_t halvings;

	if (interval_ns < RIGHT_SIZE_IDLE_NS)
		interval_ns = RIGHT_SIZE_IDLE_NS;
	halvings = (now_ns - size->used_ns) / interval_ns;
	return halvings < RIGHT_SIZE_SHIFT_MAX ? halvings : RIGHT_SIZE_SHIFT_MAX;
}

/* A sender that had nothing to send did not wait for an edge. */
RIGHT_SIZE_RARE void nopal__right_size_arrived(struct right_size *size, int64_t now_ns)
{
	int64_t sample_ns = now_ns - size->told_ns, lately_ns;

	if (sample_ns <= 0)
		return;
	size->waits = false;
	if (size->trip_ns && right_size_idle(size, now_ns))
		return;
	if (!size->trip_ns || sample_ns < size->trip_ns) {
		/* As much left in a shorter round trip, in proportion. */
		if (size->trip_ns)
			size->max = nopal_scale(size->max, (uint64_t)sample_ns,
						(uint64_t)size->trip_ns);
		size->trip_ns = sample_ns;
	}
	if (!size->lately_ns || sample_ns < size->lately_ns)
		size->lately_ns = sample_ns;
	if (now_ns - size->aged_ns < RIGHT_SIZE_AGE_NS)
		return;
	lately_ns = size->lately_ns / RIGHT_SIZE_KEPT * RIGHT_SIZE_STEP_PART / RIGHT_SIZE_TRIPS;
	if (lately_ns > size->trip_ns)
		size->trip_ns = lately_ns;
	size->lately_ns = 0;
	size->aged_ns = now_ns;
}

void nopal__right_size_idle(struct right_size *size)
{
	*size = (struct right_size){ .max = size->max,
				     .used_ns = size->max ? size->used_ns : 0,
				     .trip_ns = size->trip_ns };
}

static uint64_t right_size_wanted(const struct right_size *size)
{
	return RIGHT_SIZE_TRIPS * size->max * (size->growing ? RIGHT_SIZE_GROWTH : 1);
}

/* Where nothing left since, the window stays: a sample that was used once is not used again. */
RIGHT_SIZE_RARE uint64_t nopal__right_size_window(struct right_size *size, int64_t now_ns,
						  uint64_t left, uint64_t min, uint64_t max)
{
	uint64_t window;

	if (size->window && left == size->left)
		return size->window;
	if (!size->now.began_ns) {
		size->last = size->now = (struct right_size_half){ left, now_ns };
		size->aged_ns = now_ns;
		if (!size->used_ns)
			size->used_ns = now_ns;
	}
	/* The numbers of the last half of a round trip and of this one left in a whole one, or a
	 * little more. */
	if (left > size->now.left && size->trip_ns) {
		int64_t elapsed_ns = now_ns - size->last.began_ns;
		uint64_t gone = left - size->last.left;

		size->max >>= right_size_idle(size, now_ns);
		size->used_ns = now_ns;
		if (elapsed_ns > size->trip_ns)
			gone = nopal_scale(gone, (uint64_t)size->trip_ns, (uint64_t)elapsed_ns);
		if (gone > size->max)
			size->max = gone;
		if (now_ns - size->now.began_ns >= size->trip_ns / 2) {
			size->growing =
				size->max > size->before + size->before / RIGHT_SIZE_GROWTH_PART;
			size->before = size->max;
			size->last = size->now;
			size->now = (struct right_size_half){ left, now_ns };
		}
	}
	window = right_size_wanted(size);
	if (window < min)
		window = min;
	size->left = left;
	size->window = window < max ? window : max;
	return size->window;
}

/* Three quarters of the wanted window are there until the next edge is.  Of a window that is
 * larger, being the least, half are enough. */
uint64_t nopal__right_size_step(const struct right_size *size)
{
	uint64_t wanted = right_size_wanted(size);
	uint64_t kept = wanted - wanted / RIGHT_SIZE_STEP_PART;

	if (kept < size->window / 2)
		kept = size->window / 2;
	if (kept > size->window - size->window / RIGHT_SIZE_STEP_PART)
		return size->window / RIGHT_SIZE_STEP_PART;
	return size->window - kept;
}

/* A window that grows is several times as large. */
uint64_t nopal__right_size_look(const struct right_size *size)
{
	uint64_t look = size->window / RIGHT_SIZE_LOOK_PART;

	return size->growing ? look / RIGHT_SIZE_GROWTH : look;
}
