/* SPDX-License-Identifier: MIT */
/*
 * bbr_parts.h -- one part that modifies BBR, against BBR without the part, over one simulated
 * link: the same application, the same draws.
 *
 *     struct bbr_run with = bbr_run(BBR "usual_rtt {}", LINK, 0, 5 * NOPAL_SECOND);
 *     struct bbr_run without = bbr_run(BBR, LINK, 0, 5 * NOPAL_SECOND);
 */
#ifndef NOPAL_TEST_BBR_PARTS_H
#define NOPAL_TEST_BBR_PARTS_H

#include "support/bottleneck.h"

#define BBR "windowed_cc {}\nrate_cc {}\nbbr_congestion { initial = 64seg }\n"

struct bbr_run {
	uint64_t bytes; /* delivered */
	uint64_t dropped;
	int64_t queue_us; /* mean */
};

/* Measures a run of bbr_congestion in the time after the first `warm_ns`. */
static inline struct bbr_run bbr_run(const char *parts, const char *link, int64_t warm_ns,
				     int64_t duration_ns)
{
	struct bbr_run run;

	bottleneck_open(parts, link);
	bottleneck_run(warm_ns);
	bottleneck_run(duration_ns);
	run.bytes = bottleneck.bytes_after - bottleneck.bytes_before;
	run.dropped = bottleneck_dropped();
	run.queue_us = bottleneck_mean_queue_ns() / NOPAL_MICROSECOND;
	bottleneck_close();
	print_message("%s\t%llu bytes, %llu dropped, %lld us of queue\n", parts,
		      (unsigned long long)run.bytes, (unsigned long long)run.dropped,
		      (long long)run.queue_us);
	return run;
}

#endif
