/* SPDX-License-Identifier: MIT */
/*
 * bottleneck.h -- a whole composition with a congestion policy of the test's, that sends without
 * end over one simulated link; and what the link saw of it.
 *
 *     bottleneck_open("windowed_cc {} vegas_congestion {}",
 *                     "rate 20mbit delay 30ms limit 100");
 *     bottleneck_run(10 * NOPAL_SECOND);
 *     assert_in_range(bottleneck_percent(20000000), 95, 100);
 *     bottleneck_close();
 *
 * The questions are about the last bottleneck_run().
 */
#ifndef NOPAL_TEST_BOTTLENECK_H
#define NOPAL_TEST_BOTTLENECK_H

#include "support/rig.h"
#include "support/test.h"

enum { BOTTLENECK_MESSAGE = 64 << 10, BOTTLENECK_TEXT = 2048 };

struct bottleneck {
	struct rig rig;
	struct nopal_link_counters before, after;
	uint64_t bytes_before, bytes_after;
	int64_t duration_ns;
};
extern struct bottleneck bottleneck;
/* Keys of the peer's positive_ack; a test may say others before it opens one. */
extern const char *bottleneck_acks;

void bottleneck_look(struct nopal_link_counters *ret_counters, uint64_t *ret_bytes);
void bottleneck_open(const char *policy, const char *link);
void bottleneck_run(int64_t duration_ns);

/* Of the rate, by bytes that the application got. */
int64_t bottleneck_percent(int64_t rate_bps);
uint64_t bottleneck_dropped(void);
int64_t bottleneck_mean_queue_ns(void);
void bottleneck_close(void);

#endif
