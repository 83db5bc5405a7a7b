/* SPDX-License-Identifier: MIT */
/*
 * link_engine.c -- MTU, queue, rate, loss, duplicates, corruption and delay of one direction of a
 * link, in integers.
 *
 * The words and their meaning are those of tc-netem(8).  It differs so:
 *   - a datagram that is lost has used the queue and the rate before: the
 *     loss is at the far end of the wire, as on a radio link;
 *   - `limit` counts packets that wait or are in transmission, not packets that
 *     are on their way (netem's queue holds these too);
 *   - delay correlation c keeps the last sample with probability c, so that
 *     samples are correlated by c^k at distance k and the distribution is
 *     exact; netem's filter narrows it;
 *   - the tail of `pareto` reaches to 73 deviations, netem's table to 4;
 *   - `ce_threshold`, which is tc-fq_codel(8)'s, goes by the time that a packet
 *     will wait, and is known when it enters;
 *   - a duplicate has its own delay and corruption, and no second chance to be
 *     lost.
 *
 * No floating point: the same seed gives the same network everywhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "engine/ring.h"
#include "io/emulator/link_engine.h"
#include "io/sim/random.h"

__extension__ typedef __int128 link_wide;
__extension__ typedef unsigned __int128 link_unsigned_wide;

enum {
	LINK_BITS_A_BYTE = 8,
	LINK_MASK_BITS = 64,
	LINK_IP_BYTES = 20, /* IPv4 header: every fragment has one */
	LINK_FRAGMENT_UNIT = 8,
};

/* ---------------------------------------------------------- distributions */

enum {
	/* Twelve uniform numbers on [0, 1) have the variance 1 and the mean 6 (Irwin and Hall,
	 * 1927).  Against the normal distribution the cumulative error is below 0.003, and nothing
	 * lies beyond 6. */
	LINK_NORMAL_TERMS = 12,
	LINK_NORMAL_BITS = 16, /* of each term: four come from one draw */
	LINK_NORMAL_DRAWS = 3,
	/* Uniform numbers of 30 bits make Pareto's by inversion. */
	LINK_PARETO_BITS = 30,
	LINK_PARETO_MIN = 1 << 12, /* cuts 4 of a million at x = 64 */
	LINK_SAMPLE_SHIFT = 20,	   /* NOPAL__SAMPLE_ONE */
};
/* x = u^(-1/3), Pareto with shape 3 as netem's table: mean 3/2, deviation sqrt(3)/2; both in units
 * of the sample. */
#define LINK_PARETO_MEAN      INT64_C(1572864)
#define LINK_PARETO_DEVIATION INT64_C(908093)

static int64_t link_sample_normal(uint64_t *stream)
{
	const uint64_t term = (UINT64_C(1) << LINK_NORMAL_BITS) - 1;
	int64_t sum = 0;

	for (int i = 0; i < LINK_NORMAL_DRAWS; i++) {
		uint64_t draw = nopal__random_next(stream);

		for (; draw; draw >>= LINK_NORMAL_BITS)
			sum += (int64_t)(draw & term);
	}
	/* The terms are whole steps; half a step each makes the mean 0. */
	sum = 2 * sum + LINK_NORMAL_TERMS;
	sum -= (int64_t)LINK_NORMAL_TERMS << LINK_NORMAL_BITS;
	return sum * (1 << (LINK_SAMPLE_SHIFT - LINK_NORMAL_BITS - 1));
}

/* By the largest x with x^3 <= cube; x is below 2^27. */
static int64_t link_sample_pareto(uint64_t *stream)
{
	uint64_t u = nopal__random_next(stream) >> (64 - LINK_PARETO_BITS), x = 0;
	link_unsigned_wide cube = 1;

	if (u < LINK_PARETO_MIN)
		u = LINK_PARETO_MIN;
	cube <<= LINK_PARETO_BITS + 3 * LINK_SAMPLE_SHIFT;
	cube /= u;
	for (uint64_t bit = UINT64_C(1) << 26; bit; bit >>= 1) {
		link_unsigned_wide next = x | bit;

		if (next * next * next <= cube)
			x |= bit;
	}
	return ((int64_t)x - LINK_PARETO_MEAN) * NOPAL__SAMPLE_ONE / LINK_PARETO_DEVIATION;
}

int64_t nopal__link_sample(uint64_t *stream, enum nopal_distribution distribution)
{
	switch (distribution) {
	case NOPAL_NORMAL:
		return link_sample_normal(stream);
	case NOPAL_PARETO:
		return link_sample_pareto(stream);
	case NOPAL_PARETONORMAL: /* one part to three, as netem's table */
		return (link_sample_normal(stream) + 3 * link_sample_pareto(stream)) / 4;
	case NOPAL_UNIFORM:
		break;
	}
	return (int64_t)(((nopal__random_next(stream) >> 32) * 2 * NOPAL__SAMPLE_ONE) >> 32) -
	       NOPAL__SAMPLE_ONE;
}

/* ------------------------------------------------------------------- life */

int nopal__link_change(struct nopal__link_engine *engine, const struct nopal_link *link)
{
	const int64_t times[] = { link->delay_ns, link->jitter_ns, link->ce_threshold_ns };
	const uint32_t shares[] = {
		link->delay_correlation, link->loss,	     link->ge_p,      link->ge_r,
		link->ge_bad_loss,	 link->ge_good_loss, link->duplicate, link->corrupt,
		link->reorder,
	};
	struct nopal_link next = *link;

	if (next.limit == 0)
		next.limit = NOPAL__LINK_LIMIT;
	if (next.mtu == 0)
		next.mtu = NOPAL__LINK_MTU;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i] < 0 || times[i] > NOPAL__LINK_MAX_NS)
			return -EINVAL;
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		if (shares[i] > NOPAL__MILLION)
			return -EINVAL;
	if ((next.rate_bps &&
	     (next.rate_bps < NOPAL__LINK_MIN_BPS || next.rate_bps > NOPAL__LINK_MAX_BPS)) ||
	    next.limit > NOPAL__LINK_MAX_PACKETS || next.mtu < NOPAL__LINK_MIN_MTU ||
	    next.mtu > NOPAL__LINK_MAX_MTU)
		return -EINVAL;
	engine->link = next;
	engine->free_rest = 0; /* was counted in the old rate */
	engine->seen = 0;
	engine->since_gap = 0;
	return 0;
}

int nopal__link_init(struct nopal__link_engine *engine, const struct nopal_link *link,
		     uint32_t header_bytes, uint64_t seed)
{
	memset(engine, 0, sizeof(*engine));
	engine->header_bytes = header_bytes;
	for (unsigned i = 0; i < NOPAL__LINK_STREAMS; i++)
		engine->stream[i] = nopal__random_seed(seed, i);
	return nopal__link_change(engine, link);
}

void nopal__link_fini(struct nopal__link_engine *engine)
{
	nopal_free(NULL, engine->leaves_ns);
	engine->leaves_ns = NULL;
	engine->room = engine->queued = 0;
}

/* ------------------------------------------------------------------ queue */

bool nopal__link_fits(const struct nopal__link_engine *engine, uint32_t length)
{
	return length <= NOPAL__LINK_MAX_MTU && length + engine->header_bytes <= engine->link.mtu;
}

/* How many packets of IP the datagram takes; 0: it may not pass. */
static uint32_t link_pieces(const struct nopal__link_engine *engine,
			    const struct nopal__link_packet *packet)
{
	uint32_t body = packet->length + engine->header_bytes - LINK_IP_BYTES;
	uint32_t room = (engine->link.mtu - LINK_IP_BYTES) & ~(LINK_FRAGMENT_UNIT - 1u);

	if (nopal__link_fits(engine, packet->length))
		return 1;
	if (!packet->fragments || packet->length > NOPAL__LINK_MAX_MTU)
		return 0;
	return (body + room - 1) / room;
}

uint32_t nopal__link_queued(struct nopal__link_engine *engine, int64_t now_ns)
{
	while (engine->queued && engine->leaves_ns[engine->first] <= now_ns) {
		engine->first = (engine->first + 1) & (engine->room - 1);
		engine->queued--;
	}
	return engine->queued;
}

/* False: the sender understands no marks. */
static bool link_marks(struct nopal__link_engine *engine, uint8_t *ecn)
{
	if (*ecn == NOPAL_NOT_ECT)
		return false;
	if (*ecn != NOPAL_CE)
		engine->counters.marked++;
	*ecn = NOPAL_CE;
	return true;
}

/* False: the queue is full.  Else the packet has left at free_ns: the link is busy for the time
 * that `bytes` take; the rest of a division is carried, so that n packets take exactly floor(n *
 * time). */
static bool link_queue(struct nopal__link_engine *engine, uint32_t bytes, int64_t now_ns,
		       uint8_t *ecn)
{
	struct nopal_link_counters *counters = &engine->counters;
	uint32_t queued = nopal__link_queued(engine, now_ns);
	int64_t waited_ns;

	if (queued >= engine->link.limit)
		return false;
	if (queued == engine->room && !nopal__ring_grow(NULL, &engine->leaves_ns, &engine->first,
							&engine->room, sizeof(*engine->leaves_ns)))
		return false;
	if (engine->free_ns < now_ns) {
		engine->free_ns = now_ns;
		engine->free_rest = 0;
	}
	waited_ns = engine->free_ns - now_ns;
	if (engine->link.ce_threshold_ns && waited_ns > engine->link.ce_threshold_ns)
		link_marks(engine, ecn);
	if (engine->link.rate_bps) {
		uint64_t work = (uint64_t)bytes * LINK_BITS_A_BYTE * (uint64_t)NOPAL_SECOND +
				engine->free_rest;

		engine->free_ns += (int64_t)(work / engine->link.rate_bps);
		engine->free_rest = work % engine->link.rate_bps;
	}
	if (engine->free_ns > now_ns) {
		uint32_t last = (engine->first + queued) & (engine->room - 1);

		engine->leaves_ns[last] = engine->free_ns;
		engine->queued = ++queued;
	}
	if (queued > counters->queue_peak)
		counters->queue_peak = queued;
	if (waited_ns > counters->queue_delay_peak_ns)
		counters->queue_delay_peak_ns = waited_ns;
	counters->queue_delay_sum_ns += waited_ns;
	return true;
}

/* ------------------------------------------------------------------- loss */

static bool link_loses(struct nopal__link_engine *engine)
{
	const struct nopal_link *link = &engine->link;
	uint64_t *stream = &engine->stream[NOPAL__LINK_LOSS];
	uint64_t which = engine->seen++;
	bool lost;

	switch (link->loss_model) {
	case NOPAL_LOSS_RANDOM:
		return nopal__random_hits(stream, link->loss);
	case NOPAL_LOSS_GEMODEL: /* Gilbert and Elliott: lose in the state, then perhaps change */
		lost = nopal__random_hits(stream,
					  engine->bad ? link->ge_bad_loss : link->ge_good_loss);
		engine->bad ^= nopal__random_hits(stream, engine->bad ? link->ge_r : link->ge_p);
		return lost;
	case NOPAL_LOSS_MASK:
		return which < LINK_MASK_BITS && (link->loss_mask >> which & 1);
	case NOPAL_LOSS_NONE:
		break;
	}
	return false;
}

/* ------------------------------------------------------------------ delay */

static bool link_draws(struct nopal__link_engine *engine, enum nopal__link_stream which,
		       uint32_t ppm)
{
	return ppm && nopal__random_hits(&engine->stream[which], ppm);
}

/* One copy, which may overtake the copies that are on their way. */
static void link_come_out(struct nopal__link_engine *engine, struct nopal__link_copy *copy)
{
	const struct nopal_link *link = &engine->link;
	uint64_t *stream = &engine->stream[NOPAL__LINK_DELAY];
	int64_t delay_ns = link->delay_ns;

	copy->corrupt = link_draws(engine, NOPAL__LINK_CORRUPT, link->corrupt);
	copy->bit = 0;
	if (copy->corrupt) {
		copy->bit = nopal__random_next(&engine->stream[NOPAL__LINK_CORRUPT]);
		engine->counters.corrupted++;
	}
	copy->at_ns = engine->free_ns;
	if (link->reorder && ++engine->since_gap >= link->gap &&
	    link_draws(engine, NOPAL__LINK_REORDER, link->reorder)) {
		engine->since_gap = 0;
		engine->counters.reordered++;
		return;
	}
	if (link->jitter_ns) {
		if (!link_draws(engine, NOPAL__LINK_DELAY, link->delay_correlation))
			engine->last_sample = nopal__link_sample(stream, link->distribution);
		delay_ns += (int64_t)((link_wide)link->jitter_ns * engine->last_sample /
				      NOPAL__SAMPLE_ONE);
	}
	if (delay_ns > 0)
		copy->at_ns += delay_ns;
}

unsigned nopal__link_carry(struct nopal__link_engine *engine,
			   const struct nopal__link_packet *packet, int64_t now_ns,
			   struct nopal__link_copy ret[NOPAL__LINK_COPIES])
{
	const struct nopal_link *link = &engine->link;
	struct nopal_link_counters *counters = &engine->counters;
	uint32_t pieces = link_pieces(engine, packet);
	uint8_t ecn = packet->ecn;
	unsigned copies = 1;
	bool lost = false;

	counters->entered++;
	if (now_ns >= link->down_from_ns && now_ns < link->down_until_ns)
		return counters->lost++, 0;
	if (!pieces)
		return counters->too_big++, 0;
	if (!link_queue(engine,
			packet->length + engine->header_bytes + (pieces - 1) * LINK_IP_BYTES,
			now_ns, &ecn))
		return counters->overflowed++, 0;
	for (; pieces; pieces--) /* a fragment that is lost takes the others with it */
		lost |= link_loses(engine);
	if (lost && !(link->ecn && link_marks(engine, &ecn)))
		return counters->lost++, 0;
	if (link_draws(engine, NOPAL__LINK_DUPLICATE, link->duplicate)) {
		copies = NOPAL__LINK_COPIES;
		counters->duplicated++;
	}
	for (unsigned i = 0; i < copies; i++) {
		ret[i].ecn = ecn;
		link_come_out(engine, &ret[i]);
	}
	counters->delivered += copies;
	counters->delivered_bytes += (uint64_t)copies * packet->length;
	return copies;
}

void nopal__link_flip(uint8_t *bytes, uint32_t length, uint64_t bit)
{
	if (length == 0)
		return;
	bit %= (uint64_t)length * LINK_BITS_A_BYTE;
	bytes[bit / LINK_BITS_A_BYTE] ^= (uint8_t)(1u << bit % LINK_BITS_A_BYTE);
}
