/* SPDX-License-Identifier: MIT */
/*
 * ack_train.h -- how fast a path carried the first window.
 *
 * The first window leaves in one burst, so what spaces its acks is the bottleneck: bytes over time
 * between the first and the last of them is its rate, a round trip after the start and not after as
 * many as slow start takes. The first ack gives a time only: how much it stands for says nothing.
 * Few acks for many segments come of batches on the way and say nothing either.
 */
#ifndef NOPAL_ACK_TRAIN_H
#define NOPAL_ACK_TRAIN_H

#include <nopal/microprotocol.h>

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
