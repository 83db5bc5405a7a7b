/* SPDX-License-Identifier: MIT */
/*
 * ack_burst.h -- how far acks run ahead of the bandwidth.
 *
 * Receivers, radios and kernels hand acks over in bursts.  Between two of them the pipe must not
 * run dry, so a window needs room for the largest of late: of the last two stretches of rounds that
 * the policy marks off.
 */
#ifndef NOPAL_ACK_BURST_H
#define NOPAL_ACK_BURST_H

#include <nopal/microprotocol.h>

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

#endif
