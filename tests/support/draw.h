/* SPDX-License-Identifier: MIT */
/*
 * draw.h -- draws of a test, from a seed: the same seed, the same draws.
 *
 *     struct draw from = draw_of(seed);
 *     if (draw_happens(&from, 30))
 *             length = draw_below(&from, 1500);
 */
#ifndef NOPAL_TEST_DRAW_H
#define NOPAL_TEST_DRAW_H

#include <stdbool.h>
#include <stdint.h>

struct draw {
	uint64_t state;
};

static inline uint64_t draw_bits(struct draw *from)
{
	from->state ^= from->state << 13;
	from->state ^= from->state >> 7;
	from->state ^= from->state << 17;
	return from->state;
}

/* 0 to before `limit`, which is not 0. */
static inline uint64_t draw_below(struct draw *from, uint64_t limit)
{
	return (draw_bits(from) >> 11) % limit;
}

static inline bool draw_happens(struct draw *from, unsigned percent)
{
	return draw_below(from, 100) < percent;
}

#define DRAW_ONE(from, array) ((array)[draw_below(from, sizeof(array) / sizeof(*(array)))])

/* Some draws pass until small seeds are far apart. */
static inline struct draw draw_of(uint64_t seed)
{
	struct draw from = { (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) };

	for (int i = 0; i < 8; i++)
		draw_bits(&from);
	return from;
}

#endif
