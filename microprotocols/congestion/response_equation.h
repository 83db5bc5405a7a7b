/* SPDX-License-Identifier: MIT */
/*
 * response_equation.h -- how fast TCP would send at a rate of loss events.
 *
 *                              s
 *   X = ----------------------------------------------------
 *       R (sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32 p^2))
 *
 * s: bytes of a segment, R: round trip, p: loss events a packet.  Padhye, Firoiu, Towsley, Kurose,
 * SIGCOMM 1998, as RFC 5348, section 3.1, takes it: a packet an ack, a timeout of four round trips.
 * In integers: p in parts of 10^18, the bracket in billionths.
 */
#ifndef NOPAL_RESPONSE_EQUATION_H
#define NOPAL_RESPONSE_EQUATION_H

#include <nopal/microprotocol.h>

enum { RESPONSE_EVENTS_MIN = 1000000 }; /* in a million million packets one */
#define RESPONSE_BILLION UINT64_C(1000000000)
#define RESPONSE_UNITY	 (RESPONSE_BILLION * RESPONSE_BILLION)

/* Largest r with r^2 <= value. */
static inline uint64_t response_root(uint64_t value)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 62; bit; bit >>= 2) {
		if (value >= root + bit) {
			value -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

/* The bracket, in billionths: round trips from segment to segment. */
static inline uint64_t response_spacing(uint64_t events)
{
	const uint64_t timeouts = 12, losses = 32;
	uint64_t share = events / RESPONSE_BILLION;
	uint64_t often = RESPONSE_BILLION + losses * (share * share / RESPONSE_BILLION);
	uint64_t waits =
		nopal_scale(timeouts * response_root(events / 8 * 3), events, RESPONSE_UNITY);

	return response_root(events / 3 * 2) + nopal_scale(waits, often, RESPONSE_BILLION);
}

/* Bits a second, at `events` of RESPONSE_UNITY; 0 < events <= RESPONSE_UNITY. */
static inline uint64_t response_rate(uint32_t segment_bytes, int64_t rtt_ns, uint64_t events)
{
	const uint64_t bits = 8, picos = 1000;
	uint64_t spacing_ps =
		nopal_scale((uint64_t)rtt_ns * picos, response_spacing(events), RESPONSE_BILLION);

	return nopal_scale(bits * segment_bytes, RESPONSE_BILLION * picos,
			   spacing_ps ? spacing_ps : 1);
}

/* The rate of loss events at which TCP sends no faster than that. */
static inline uint64_t response_events(uint32_t segment_bytes, int64_t rtt_ns, uint64_t rate_bps)
{
	uint64_t less = RESPONSE_EVENTS_MIN, more = RESPONSE_UNITY;

	while (less < more) {
		uint64_t middle = less + (more - less) / 2;

		if (response_rate(segment_bytes, rtt_ns, middle) > rate_bps)
			less = middle + 1;
		else
			more = middle;
	}
	return less;
}

#endif
