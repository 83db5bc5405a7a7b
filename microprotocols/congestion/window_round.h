/* SPDX-License-Identifier: MIT */
/*
 * window_round.h -- rounds of a window: from one packet number to the next that had not left yet.
 *
 * For a policy of window_rules.h that judges its window once a round.  Its state starts with struct
 * window_round, and its rules have `judge` and one of these lines:
 *
 *   see         after        opened                     to judge by
 *   ..compare                window_round_begin_first   the round trips of the round
 *   ..count     ..end        window_round_begin         the bytes that arrived in the round
 */
#ifndef NOPAL_WINDOW_ROUND_H
#define NOPAL_WINDOW_ROUND_H

#include "rtt_round.h"
#include "window_rules.h"

struct window_round {
	struct loss_epoch epoch;
	struct rtt_round rtt;
	int64_t began_ns;
	int64_t window_bytes; /* as it began */
	int64_t acked_bytes;
	uint32_t judged; /* rounds, since the last reduction */
	bool limited;	 /* the application was the limit in it */
};

static inline void window_round_begin(struct nopal_at at)
{
	struct window_round *round = nopal_state(at);

	rtt_round_begin(at.session, &round->rtt);
	round->began_ns = at.session->now_ns;
	round->window_bytes = nopal_shared_get(at, WINDOW_BYTES);
	round->acked_bytes = 0;
	round->limited = false;
}

/* The first window is the first round. */
static inline void window_round_begin_first(struct nopal_at at)
{
	struct window_round *round = nopal_state(at);

	window_round_begin(at);
	round->rtt.end = (uint64_t)round->window_bytes / nopal_body_limit(at.session);
}

static inline void window_round_count(struct nopal_at at, const struct nopal_ack *ack)
{
	struct window_round *round = nopal_state(at);

	round->acked_bytes += (int64_t)ack->newly_acked_bytes;
	round->limited |= nopal_shared_get(at, WINDOW_APP_LIMITED);
}

static inline void window_round_end(struct nopal_at at, const struct nopal_ack *ack)
{
	struct window_round *round = nopal_state(at);

	if (!rtt_round_is_over(&round->rtt, ack))
		return;
	window_rules_of(at)->judge(at);
	window_round_begin(at);
}

/* A recovery that is over begins a round: (optional) `resolves`. */
static inline bool window_round_resolves(struct nopal_at at, const struct nopal_ack *ack)
{
	const struct window_round *round = nopal_state(at);

	(void)ack;
	if (!loss_epoch_is_resolved(at.session, &round->epoch))
		return false;
	window_round_begin(at);
	return true;
}

/* A round in which the application limits, or losses are unresolved, is not judged.  In slow start
 * a round is judged before its end, too, where the samples are enough (RFC 9406, section 4.3). */
static inline void window_round_compare(struct nopal_at at, const struct nopal_ack *ack)
{
	struct window_round *round = nopal_state(at);
	bool recovering = round->epoch.recovering;

	if (rtt_round_is_over(&round->rtt, ack)) {
		if (round->rtt.samples && !round->limited && !recovering) {
			window_rules_of(at)->judge(at);
			round->judged++;
		}
		window_round_begin(at);
	}
	window_round_count(at, ack);
	if (rtt_round_sample(&round->rtt, ack, nopal_shared_get(at, WINDOW_RTT)) && !recovering &&
	    round->rtt.samples == RTT_ROUND_ENOUGH && window_rules_is_slow_start(at))
		window_rules_of(at)->judge(at);
}

#endif
