/* SPDX-License-Identifier: MIT */
/*
 * rtt_round.h -- the least round trip of each round.
 *
 * A round ends with the first acknowledgement of a segment that left after the round began.  The
 * least of a round's samples is free of the bursts of acknowledgements and of our own segments, and
 * the first few samples are enough: where the path is not full, these segments left behind a pause,
 * and met no queue (RFC 9406, section 4.3).
 */
#ifndef NOPAL_RTT_ROUND_H
#define NOPAL_RTT_ROUND_H

#include <nopal/microprotocol.h>

enum { RTT_ROUND_ENOUGH = 8 }; /* samples */

struct rtt_round {
	uint64_t end;	   /* packet number that ends the round */
	int64_t min_ns;	   /* of its samples */
	int64_t before_ns; /* of the round before; 0: there was no sample */
	uint32_t samples;
};

static inline bool rtt_round_is_over(const struct rtt_round *round, const struct nopal_ack *ack)
{
	return ack->largest >= round->end;
}

static inline void rtt_round_begin(struct nopal_session *session, struct rtt_round *round)
{
	round->end = nopal_next_packet_number(session);
	round->before_ns = round->samples ? round->min_ns : 0;
	round->samples = 0;
}

/* True: the ack is a sample of this round. */
static inline bool rtt_round_sample(struct rtt_round *round, const struct nopal_ack *ack,
				    int64_t latest_ns)
{
	if (!ack->largest_is_new || latest_ns <= 0)
		return false;
	if (!round->samples++ || latest_ns < round->min_ns)
		round->min_ns = latest_ns;
	return true;
}

#endif
