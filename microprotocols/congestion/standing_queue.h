/* SPDX-License-Identifier: MIT */
/*
 * standing_queue.h -- is there a queue, and since when without a pause?
 *
 * The time of a round trip beyond the least one was spent in queues.  Less than a quarter of the
 * least round trip and 5 ms is noise or one burst.  A queue that every sample of a whole round trip
 * has met is no burst: the pipe is full.
 */
#ifndef NOPAL_STANDING_QUEUE_H
#define NOPAL_STANDING_QUEUE_H

#include <nopal/microprotocol.h>

static const int64_t STANDING_QUEUE_SMALL_NS = 5 * NOPAL_MILLISECOND;
enum { STANDING_QUEUE_SMALL_PART = 4 };

struct standing_queue {
	int64_t began_ns;
	bool small; /* as of the last sample */
	bool stands;
};

static inline bool standing_queue_is_small(int64_t rtt_ns, int64_t min_ns)
{
	return rtt_ns - min_ns <= min_ns / STANDING_QUEUE_SMALL_PART + STANDING_QUEUE_SMALL_NS;
}

static inline void standing_queue_begin(struct standing_queue *queue)
{
	*queue = (struct standing_queue){ .small = true };
}

/* A round trip; 0 is none. */
static inline void standing_queue_note(struct standing_queue *queue, int64_t now_ns, int64_t rtt_ns,
				       int64_t min_ns)
{
	bool before = !queue->small;

	if (rtt_ns <= 0)
		return;
	queue->small = standing_queue_is_small(rtt_ns, min_ns);
	if (!queue->small && !before)
		queue->began_ns = now_ns;
	queue->stands = !queue->small && now_ns - queue->began_ns >= rtt_ns;
}

#endif
