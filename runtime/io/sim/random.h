/* SPDX-License-Identifier: MIT */
/*
 * random.h -- random streams of the simulated network.
 *
 * SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): 8 bytes of state a stream, so that every purpose
 * of every link has its own, and a change of one word of a link leaves the draws of all others as
 * they were.
 */
#ifndef NOPAL_RANDOM_H
#define NOPAL_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#define NOPAL__MILLION 1000000u

static inline uint64_t nopal__random_mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

/* The next draw of a stream. */
static inline uint64_t nopal__random_next(uint64_t *stream)
{
	*stream += UINT64_C(0x9e3779b97f4a7c15);
	return nopal__random_mix(*stream);
}

/* Where the stream `name` of a seed starts. */
static inline uint64_t nopal__random_seed(uint64_t seed, uint64_t name)
{
	return nopal__random_mix(nopal__random_mix(seed) ^ nopal__random_mix(~name));
}

/* True `ppm` times in a million; off by less than 2^-32. */
static inline bool nopal__random_hits(uint64_t *stream, uint32_t ppm)
{
	return ((nopal__random_next(stream) >> 32) * NOPAL__MILLION) >> 32 < ppm;
}

#endif
