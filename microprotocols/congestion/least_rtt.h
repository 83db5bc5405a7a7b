/* SPDX-License-Identifier: MIT */
/*
 * min_rtt.h -- the round trip of a path without queues: the least of the last ten seconds.
 *
 * A least one that is older is replaced by the next sample, whatever that one is.
 */
#ifndef NOPAL_MIN_RTT_H
#define NOPAL_MIN_RTT_H

#include <nopal/microprotocol.h>

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

#endif
