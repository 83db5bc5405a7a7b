/* SPDX-License-Identifier: MIT */
/*
 * least_rtt.h -- the round trip of a path without queues, as most packets have it.
 *
 * The least of what was seen in the last ten seconds; what is older is replaced by the next sample,
 * whatever it is.  A sample is the largest of four in a row:
 * the round trip of a packet that jumped the queue is true, but no other has it.
 *
 * Where packets overtake, the newest of an ack is the one that did, and an ack may have overtaken
 * others itself.  Once that shows, all that was learned is void, and a sample is the largest of 64
 * segments, each from the departure that is known to have arrived.
 */
#ifndef NOPAL_LEAST_RTT_H
#define NOPAL_LEAST_RTT_H

#include <nopal/microprotocol.h>

enum {
	LEAST_RTT_SAMPLES = 4,
	LEAST_RTT_BATCH = 64,	  /* segments, where packets overtake */
	LEAST_RTT_PART = 32,	  /* of a round trip: less is no overtaking */
	LEAST_RTT_EARLY_PART = 8, /* of what is out */
	LEAST_RTT_EARLY_SEGMENTS = 16,
};
#define LEAST_RTT_OLD_NS (10 * NOPAL_SECOND)

struct least_rtt {
	int64_t ns; /* 0: not known */
	int64_t found_ns;
	bool old;	  /* to be replaced */
	bool overtakes;	  /* a later packet or ack came before an earlier */
	uint64_t largest; /* packet number that earlier acks reported */
	int64_t recent_ns[LEAST_RTT_SAMPLES];
	uint32_t newest;
	uint32_t batch;	  /* segments in it */
	int64_t batch_ns; /* their largest */
	int64_t whole_ns; /* of a whole batch, to be taken; or 0 */
};

/* Where acks overtake, how many bytes of one may have come early: others would have told of them in
 * the same time.  Elsewhere nothing is early.  `product` is what a round trip carries. */
static inline uint64_t least_rtt_early(const struct least_rtt *least, uint64_t product,
				       uint64_t segment_bytes)
{
	if (!least->overtakes)
		return UINT64_MAX;
	return product / LEAST_RTT_EARLY_PART + LEAST_RTT_EARLY_SEGMENTS * segment_bytes;
}

/* What was overtaken has a better round trip than what was thought until then. */
static inline void least_rtt_overtaken(struct least_rtt *least, int64_t rtt_ns)
{
	least->overtakes = true;
	least->old = true;
	least->batch = 0;
	least->batch_ns = 0;
	least->whole_ns = 0;
	if (rtt_ns > least->ns)
		least->ns = rtt_ns;
}

/* A segment arrived that left, as `packet_number` or before, `rtt_ns` ago.  True when it turns out
 * that packets overtake. */
static inline bool least_rtt_segment(struct least_rtt *least, int64_t rtt_ns,
				     uint64_t packet_number)
{
	if (rtt_ns > least->batch_ns)
		least->batch_ns = rtt_ns;
	if (++least->batch == LEAST_RTT_BATCH) {
		least->whole_ns = least->batch_ns;
		least->batch_ns = 0;
		least->batch = 0;
	}
	if (least->overtakes || packet_number >= least->largest)
		return false;
	least_rtt_overtaken(least, rtt_ns);
	return true;
}

/* An ack came.  True when it turns out that acks overtake: one that knew of more was here already.
 * What came with the largest and is not in a part of a report, a later one tells. */
static inline bool least_rtt_ack(struct least_rtt *least, const struct nopal_ack *ack)
{
	if (ack->largest >= least->largest) {
		if (!ack->told_end)
			least->largest = ack->largest;
		return false;
	}
	if (least->overtakes)
		return false;
	least_rtt_overtaken(least, 0);
	return true;
}

/* A round trip that others will have too; 0: not known now. */
static inline int64_t least_rtt_usual(struct least_rtt *least, int64_t rtt_ns)
{
	int64_t whole_ns = least->whole_ns;

	least->whole_ns = 0;
	if (least->overtakes)
		return whole_ns;
	if (rtt_ns <= 0)
		return 0;
	least->newest = (least->newest + 1) % LEAST_RTT_SAMPLES;
	least->recent_ns[least->newest] = rtt_ns;
	for (unsigned i = 0; i < LEAST_RTT_SAMPLES; i++)
		if (least->recent_ns[i] > rtt_ns)
			rtt_ns = least->recent_ns[i];
	return rtt_ns;
}

/* What arrives sooner after its departure cannot be, or, where acks overtake, came with one that
 * did.  `usual_ns`: what a round trip takes now. */
static inline int64_t least_rtt_age(const struct least_rtt *least, int64_t usual_ns)
{
	usual_ns -= usual_ns / LEAST_RTT_PART;
	return least->overtakes && usual_ns > least->ns ? usual_ns : least->ns;
}

/* With each ack; `rtt_ns` is 0 where it is no sample.  True when what is known is too old to be
 * believed. */
static inline bool least_rtt_take(struct least_rtt *least, int64_t now_ns, int64_t rtt_ns)
{
	bool old = now_ns > least->found_ns + LEAST_RTT_OLD_NS;

	least->old |= old || !least->ns;
	rtt_ns = least_rtt_usual(least, rtt_ns);
	if (rtt_ns > 0 && (least->old || rtt_ns <= least->ns)) {
		least->ns = rtt_ns;
		least->found_ns = now_ns;
		least->old = false;
	}
	return old;
}

#endif
