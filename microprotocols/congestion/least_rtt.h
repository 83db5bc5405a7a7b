/* SPDX-License-Identifier: MIT */
/*
 * least_rtt.h -- the round trip of a path without queues: the least of the last ten seconds.
 *
 * A least one that is older is replaced by the next sample, whatever that one is.
 */
#ifndef NOPAL_LEAST_RTT_H
#define NOPAL_LEAST_RTT_H

#include <nopal/microprotocol.h>

#define LEAST_RTT_OLD_NS (10 * NOPAL_SECOND)

struct least_rtt {
	int64_t ns; /* 0: not known */
	int64_t found_ns;
	bool old; /* to be replaced */
};

/* With each ack; `rtt_ns` is 0 where it is no sample.  True when the least one is too old to be
 * believed. */
static inline bool least_rtt_take(struct least_rtt *least, int64_t now_ns, int64_t rtt_ns)
{
	bool old = now_ns > least->found_ns + LEAST_RTT_OLD_NS;

	least->old |= old || !least->ns;
	if (rtt_ns > 0 && (least->old || rtt_ns <= least->ns)) {
		least->ns = rtt_ns;
		least->found_ns = now_ns;
		least->old = false;
	}
	return old;
}

#endif
