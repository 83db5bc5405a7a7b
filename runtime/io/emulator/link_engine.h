/* SPDX-License-Identifier: MIT */
/*
 * link_engine.h -- one direction of a link: the outcome of each datagram.
 *
 * The engine is told (packet, now) and answers with the copies that come out, and when.  It keeps
 * no datagrams, reads no clock and schedules nothing: the simulator, the UDP relay and the link
 * between TUN devices drive the same one.
 *
 *   enter -> down? -> MTU (fragments) -> queue limit, rate, ce_threshold
 *         -> loss, or a mark in its place -> duplicate
 *                                           each copy: corrupt, delay, reorder
 */
#ifndef NOPAL_LINK_ENGINE_H
#define NOPAL_LINK_ENGINE_H

#include <nopal/nopal.h>

enum {
	NOPAL__LINK_COPIES = 2,
	NOPAL__UDP_HEADER_BYTES = 28, /* IPv4 and UDP without options */
	NOPAL__LINK_LIMIT = 1000,     /* packets, where a link says 0 */
	NOPAL__LINK_MTU = 1500,	      /* bytes, where a link says 0 */
};

/* Bounds of a link's numbers: sums of them fit in 64 bits. */
#define NOPAL__LINK_MAX_NS	(INT64_C(1000000) * INT64_C(1000000000))
#define NOPAL__LINK_MIN_BPS	UINT64_C(1000)
#define NOPAL__LINK_MAX_BPS	UINT64_C(1000000000000000)
#define NOPAL__LINK_MAX_PACKETS 1000000u
#define NOPAL__LINK_MIN_MTU	68u /* RFC 791 */
#define NOPAL__LINK_MAX_MTU	65535u

/* Every purpose draws from a stream of its own. */
enum nopal__link_stream {
	NOPAL__LINK_LOSS,
	NOPAL__LINK_DUPLICATE,
	NOPAL__LINK_CORRUPT,
	NOPAL__LINK_DELAY,
	NOPAL__LINK_REORDER,
	NOPAL__LINK_STREAMS,
};

/* One datagram as it goes in. */
struct nopal__link_packet {
	uint32_t length;
	bool fragments; /* longer than the MTU it goes in several packets */
	uint8_t ecn;	/* enum nopal_ecn */
};

/* One datagram as it comes out. */
struct nopal__link_copy {
	int64_t at_ns;
	uint8_t ecn; /* enum nopal_ecn */
	bool corrupt;
	uint64_t bit; /* corrupt: the bit for nopal__link_flip */
};

struct nopal__link_engine {
	struct nopal_link link;
	struct nopal_link_counters counters;
	uint32_t header_bytes; /* on the link, not in the lengths told */
	int64_t free_ns;       /* when the last bit of the queue has left */
	uint64_t free_rest;    /* and this many 1/rate_bps of a ns later */
	int64_t *leaves_ns;    /* ring: when each queued packet has left */
	uint32_t first, queued, room;
	uint64_t stream[NOPAL__LINK_STREAMS];
	uint64_t seen;	     /* datagrams at the loss stage since the change */
	uint32_t since_gap;  /* copies since the last reordered one */
	bool bad;	     /* gemodel: in the bad state */
	int64_t last_sample; /* of the delay, for its correlation */
};

/* 0, or -EINVAL where a number of the link is out of range. */
int nopal__link_init(struct nopal__link_engine *engine, const struct nopal_link *link,
		     uint32_t header_bytes, uint64_t seed);
void nopal__link_fini(struct nopal__link_engine *engine);
/* Other words from now on; queued packets leave as they would have.  The loss mask and the gap
 * count from the change.  Returns as init. */
int nopal__link_change(struct nopal__link_engine *engine, const struct nopal_link *link);
/* A datagram enters at `now_ns` (never before an earlier one's).  Returns the number of copies that
 * come out: 0, 1 or 2. */
unsigned nopal__link_carry(struct nopal__link_engine *engine,
			   const struct nopal__link_packet *packet, int64_t now_ns,
			   struct nopal__link_copy ret[NOPAL__LINK_COPIES]);
/* Damages a copy: flips bit `bit`, modulo the bits of its payload. */
void nopal__link_flip(uint8_t *bytes, uint32_t length, uint64_t bit);
/* Packets waiting or in transmission at `now_ns`. */
uint32_t nopal__link_queued(struct nopal__link_engine *engine, int64_t now_ns);
/* Is a datagram of `length` bytes within the MTU? */
bool nopal__link_fits(const struct nopal__link_engine *engine, uint32_t length);
/* One draw of a distribution with mean 0 and deviation 1 (uniform: within [-1, 1]), in units of 1 /
 * NOPAL__SAMPLE_ONE. */
#define NOPAL__SAMPLE_ONE INT64_C(0x100000)
int64_t nopal__link_sample(uint64_t *stream, enum nopal_distribution distribution);

#endif
