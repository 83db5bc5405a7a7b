/* SPDX-License-Identifier: MIT */
/*
 * random_loss.h -- the share of transmissions that gets lost without congestion.
 *
 * A policy that probes sends slower than its estimate of the bottleneck from time to time.  Of what
 * it sent in such slow phases, whatever got lost did not get lost for its own sending: that share
 * is random.  A slow phase that still meets a queue proves the estimate too high; it counts as free
 * of loss, so that a share that was taken too large fades.  All is halved beyond a memory of 1024
 * segments, which leaves a standard error of about 1 % at 15 % of loss.
 */
#ifndef NOPAL_RANDOM_LOSS_H
#define NOPAL_RANDOM_LOSS_H

#include <nopal/microprotocol.h>

enum {
	RANDOM_LOSS_MEMORY_SEGMENTS = 1024,
	RANDOM_LOSS_FEW_SEGMENTS = 64, /* fewer say nothing */
	/* A sample may claim a quarter above the mean share, for its scatter; and never more than a
	 * third. */
	RANDOM_LOSS_MARGIN = 125,
	RANDOM_LOSS_PERCENT = 100,
	RANDOM_LOSS_MAX = 333333, /* parts per million */
	RANDOM_LOSS_FAR = 100000, /* beyond the share */
	RANDOM_LOSS_MILLION = 1000000,
};

struct random_loss {
	uint64_t bytes, lost;	      /* of slow phases */
	uint64_t ack_bytes, ack_lost; /* of the ack in work */
};

static inline void random_loss_count(struct random_loss *loss, const struct nopal_segment *segment,
				     bool lost)
{
	loss->ack_bytes += segment->body.length;
	if (lost)
		loss->ack_lost += segment->body.length;
}

static inline void random_loss_end_ack(struct nopal_session *session, struct random_loss *loss,
				       bool queued)
{
	uint64_t max = RANDOM_LOSS_MEMORY_SEGMENTS * (uint64_t)nopal_body_limit(session);

	loss->bytes += loss->ack_bytes;
	if (!queued)
		loss->lost += loss->ack_lost;
	loss->ack_bytes = 0;
	loss->ack_lost = 0;
	if (loss->bytes < max)
		return;
	loss->bytes /= 2;
	loss->lost /= 2;
}

/* The random share in parts per million. */
static inline uint64_t random_loss_share(struct nopal_session *session,
					 const struct random_loss *loss)
{
	uint64_t few = RANDOM_LOSS_FEW_SEGMENTS * (uint64_t)nopal_body_limit(session);
	uint64_t bytes = loss->bytes > few ? loss->bytes : few;
	uint64_t share = nopal_scale(loss->lost, RANDOM_LOSS_MILLION, bytes);

	return share < RANDOM_LOSS_MAX ? share : RANDOM_LOSS_MAX;
}

/* The bytes that a bottleneck passed: delivered ones, and lost ones up to the random share. */
static inline uint64_t random_loss_passed(struct nopal_session *session,
					  const struct random_loss *loss, uint64_t delivered,
					  uint64_t lost)
{
	uint64_t share = nopal_scale(random_loss_share(session, loss), RANDOM_LOSS_MARGIN,
				     RANDOM_LOSS_PERCENT);
	uint64_t max = nopal_scale(delivered, share, RANDOM_LOSS_MILLION - share);

	return delivered + (lost < max ? lost : max);
}

/* Was far more lost than the random share, in parts per million?  What runs over when half as much
 * again is sent as the bottleneck passes is a third. */
static inline bool random_loss_exceeded(uint64_t share, uint64_t delivered, uint64_t lost)
{
	return lost > nopal_scale(delivered + lost, share + RANDOM_LOSS_FAR, RANDOM_LOSS_MILLION);
}

#endif
