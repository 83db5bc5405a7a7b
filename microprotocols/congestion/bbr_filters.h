/* SPDX-License-Identifier: MIT */
/*
 * bbr_filters.h -- the path as BBR makes it out of samples: its bandwidth, its round trip without
 * queues, and whether its pipe is full (Cardwell et al., BBR, 2016); and what the parts that modify
 * BBR make of acks.
 */
#ifndef NOPAL_BBR_FILTERS_H
#define NOPAL_BBR_FILTERS_H

#include <nopal/microprotocol.h>

/* The largest rate of the last ten rounds.  Samples of a rate are mostly too small, for whatever
 * held a segment up made them so.  Ten rounds are long enough to see a probe for more, and short
 * enough to notice that the path became slower. */
enum { LARGEST_RATE_ROUNDS = 10 };

struct largest_rate {
	uint64_t by_round_bps[LARGEST_RATE_ROUNDS];
	uint64_t round; /* of the newest entry */
	uint32_t newest;
};

/* A sample of this round, which is never an earlier one than before; returns the largest of all. */
static inline uint64_t largest_rate_keep(struct largest_rate *rates, uint64_t round,
					 uint64_t rate_bps)
{
	uint64_t largest = 0;

	if (rates->round != round) {
		rates->round = round;
		rates->newest = (rates->newest + 1) % LARGEST_RATE_ROUNDS;
		rates->by_round_bps[rates->newest] = 0;
	}
	if (rate_bps > rates->by_round_bps[rates->newest])
		rates->by_round_bps[rates->newest] = rate_bps;
	for (unsigned i = 0; i < LARGEST_RATE_ROUNDS; i++)
		if (rates->by_round_bps[i] > largest)
			largest = rates->by_round_bps[i];
	return largest;
}

/* The least round trip of the last ten seconds.  One that is older is replaced by the next sample,
 * whatever its value. */
#define MIN_RTT_OLD_NS (10 * NOPAL_SECOND)

struct min_rtt {
	int64_t ns; /* 0: not known */
	int64_t found_ns;
	bool old; /* to be replaced */
};

/* With each ack; `rtt_ns` is 0 where it is no sample.  True when the least one is too old to be
 * believed. */
static inline bool min_rtt_take(struct min_rtt *min, int64_t now_ns, int64_t rtt_ns)
{
	bool old = now_ns > min->found_ns + MIN_RTT_OLD_NS;

	min->old |= old || !min->ns;
	if (rtt_ns > 0 && (min->old || rtt_ns <= min->ns)) {
		min->ns = rtt_ns;
		min->found_ns = now_ns;
		min->old = false;
	}
	return old;
}

/* The pipe is full when for three rounds the bandwidth did not grow by a quarter: more in flight
 * brings no more. */
enum {
	FULL_PIPE_ROUNDS = 3,
	FULL_PIPE_GROWTH = 125, /* percent */
	FULL_PIPE_UNITY = 100,
};

struct full_pipe {
	uint64_t grown_bps; /* growth is against it */
	uint32_t rounds;    /* without growth */
	bool full;
};

static inline void full_pipe_begin(struct full_pipe *pipe)
{
	*pipe = (struct full_pipe){ .full = false };
}

/* With each ack; `round`: one ended that tells of the bandwidth. */
static inline void full_pipe_note(struct full_pipe *pipe, bool round, uint64_t bandwidth_bps)
{
	if (pipe->full || !round)
		return;
	if (bandwidth_bps >= nopal_scale(pipe->grown_bps, FULL_PIPE_GROWTH, FULL_PIPE_UNITY)) {
		pipe->grown_bps = bandwidth_bps;
		pipe->rounds = 0;
	} else {
		pipe->rounds++;
	}
	pipe->full = pipe->rounds >= FULL_PIPE_ROUNDS;
}

/* How far acks run ahead of the bandwidth.  Receivers, radios and kernels hand acks over in bursts.
 * Between two of them the pipe must not run dry, so a window needs room for the largest of late: of
 * the last two stretches of rounds that the policy marks off. */
struct ack_burst {
	uint64_t began_delivered; /* acks count against the bandwidth */
	int64_t began_ns;	  /* since then */
	uint64_t newer, older;	  /* largest, bytes */
};

/* `delivered` is all that was, by now; `most`: a burst counts no further. */
static inline void ack_burst_note(struct ack_burst *burst, int64_t now_ns, uint64_t delivered,
				  uint64_t bandwidth_bps, uint64_t max)
{
	uint64_t acked = delivered - burst->began_delivered;
	uint64_t expected = nopal_rate_bytes(bandwidth_bps, now_ns - burst->began_ns);

	if (acked <= expected) {
		burst->began_ns = now_ns;
		burst->began_delivered = delivered;
		return;
	}
	acked -= expected;
	if (acked > max)
		acked = max;
	if (acked > burst->newer)
		burst->newer = acked;
}

static inline void ack_burst_turn(struct ack_burst *burst)
{
	burst->older = burst->newer;
	burst->newer = 0;
}

static inline uint64_t ack_burst_largest(const struct ack_burst *burst)
{
	return burst->newer > burst->older ? burst->newer : burst->older;
}

/* How fast a path carried the first window.  That leaves in one burst, so what spaces its acks is
 * the bottleneck: bytes over time between the first and the last of them is its rate, a round trip
 * after the start and not after as many as slow start takes.  The first ack gives a time only: how
 * much it stands for says nothing.  Few acks for many segments come of batches on the way and say
 * nothing either. */
enum {
	ACK_TRAIN_FEW = 8,    /* fewer acks are no train */
	ACK_TRAIN_GAIN = 150, /* percent: steps beyond it */
	ACK_TRAIN_UNITY = 100,
};

struct ack_train {
	int64_t began_ns;
	uint64_t began_delivered; /* bytes, with the first ack */
	uint64_t rate_bps;	  /* 0: not known */
	uint32_t acks;
};

/* An ack of the first window; `delivered` is all that was, by now. */
static inline void ack_train_note(struct ack_train *train, int64_t now_ns, uint64_t delivered)
{
	if (!train->acks++) {
		train->began_ns = now_ns;
		train->began_delivered = delivered;
	} else if (train->acks >= ACK_TRAIN_FEW && now_ns > train->began_ns) {
		train->rate_bps =
			nopal_rate_of(delivered - train->began_delivered, now_ns - train->began_ns);
	}
}

/* The rate that a startup which has seen `seen_bps` delivered does not exceed: half as much again
 * as is known.  0: the train is not known. */
static inline uint64_t ack_train_max(const struct ack_train *train, uint64_t seen_bps)
{
	uint64_t known_bps = train->rate_bps > seen_bps ? train->rate_bps : seen_bps;

	return train->rate_bps ? nopal_scale(known_bps, ACK_TRAIN_GAIN, ACK_TRAIN_UNITY) : 0;
}

#endif
