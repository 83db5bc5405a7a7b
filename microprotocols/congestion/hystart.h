/* SPDX-License-Identifier: MIT */
/*
 * hystart.h -- slow start that ends when the delay grows: HyStart++ (RFC 9406, section 4.2).
 *
 * The least round trip of a round is held against that of the round before: an eighth more, within
 * limits, and a queue has begun to grow.
 *
 * For a policy of window_rules.h: its state starts with struct hystart, its parameters with struct
 * hystart_parameters and HYSTART_PARAMETERS, its shared variables with HYSTART_SHARED, and
 * hystart_start is its `start`.
 */
#ifndef NOPAL_HYSTART_H
#define NOPAL_HYSTART_H

#include "rtt_round.h"
#include "window_rules.h"

enum { HYSTART_LATEST = WINDOW_NEXT, HYSTART_NEXT };
#define HYSTART_SHARED                                                                             \
	WINDOW_SHARED, [HYSTART_LATEST] = { "latest_rtt_ns", NOPAL_READ, 0, "does a queue grow" }

enum { HYSTART_RTT_SHARE = 8 };
#define HYSTART_MIN_RISE (4 * NOPAL_MILLISECOND)
#define HYSTART_MAX_RISE (16 * NOPAL_MILLISECOND)

struct hystart_parameters {
	struct window_parameters window;
	int64_t on;
};

#define HYSTART_PARAMETERS                                                                         \
	WINDOW_INITIAL, NOPAL_ON_OFF(hystart, on, "hystart", "on",                                 \
				     "leave slow start when the delay grows")

struct hystart {
	struct loss_epoch epoch;
	struct rtt_round round; /* of slow start */
};

static inline int64_t hystart_start(struct nopal_at at, int64_t window, const struct nopal_ack *ack)
{
	const struct hystart_parameters *set = nopal_parameters(at);
	struct hystart *hystart = nopal_state(at);
	struct rtt_round *round = &hystart->round;
	int64_t rise;

	window += (int64_t)ack->newly_acked_bytes;
	if (!set->on)
		return window;
	if (rtt_round_is_over(round, ack))
		rtt_round_begin(at.session, round);
	if (!rtt_round_sample(round, ack, nopal_shared_get(at, HYSTART_LATEST)))
		return window;
	rise = round->before_ns / HYSTART_RTT_SHARE;
	if (rise < HYSTART_MIN_RISE)
		rise = HYSTART_MIN_RISE;
	if (rise > HYSTART_MAX_RISE)
		rise = HYSTART_MAX_RISE;
	if (round->before_ns && round->samples >= RTT_ROUND_ENOUGH &&
	    round->min_ns - rise >= round->before_ns)
		nopal_shared_set(at, WINDOW_THRESHOLD, window);
	return window;
}

#endif
