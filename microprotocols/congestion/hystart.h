/* SPDX-License-Identifier: MIT */
/*
 * hystart.h -- does slow start build a queue? HyStart++ (RFC 9406, section 4.2).
 *
 * The least round trip of a round is held against that of the round before: an eighth more, within
 * limits, and a queue has begun to grow.
 */
#ifndef NOPAL_HYSTART_H
#define NOPAL_HYSTART_H

#include "rtt_round.h"

enum { HYSTART_RTT_SHARE = 8 };
#define HYSTART_MIN_RISE (4 * NOPAL_MILLISECOND)
#define HYSTART_MAX_RISE (16 * NOPAL_MILLISECOND)

/* With each ack of slow start. */
static inline bool hystart_is_delayed(struct nopal_session *session, struct rtt_round *round,
				      const struct nopal_ack *ack, int64_t latest_ns)
{
	int64_t rise;

	if (rtt_round_is_over(round, ack))
		rtt_round_begin(session, round);
	if (!rtt_round_sample(round, ack, latest_ns))
		return false;
	rise = round->before_ns / HYSTART_RTT_SHARE;
	if (rise < HYSTART_MIN_RISE)
		rise = HYSTART_MIN_RISE;
	if (rise > HYSTART_MAX_RISE)
		rise = HYSTART_MAX_RISE;
	return round->before_ns && round->samples >= RTT_ROUND_ENOUGH &&
	       round->min_ns - rise >= round->before_ns;
}

#endif
