/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "support/bottleneck.h"
#include "support/test.h"

struct bottleneck bottleneck;
const char *bottleneck_acks = "every = 2  delay = 25ms  selective = on";

void bottleneck_look(struct nopal_link_counters *ret_counters, uint64_t *ret_bytes)
{
	assert_true(nopal_sim_link_counters(bottleneck.rig.world, 0, 1, ret_counters));
	*ret_bytes = bottleneck.rig.acceptor.delivered_bytes;
}

void bottleneck_open(const char *policy, const char *link)
{
	char config[BOTTLENECK_TEXT];

	snprintf(config, sizeof(config),
		 "transport_driver {}\nresize {}\nsequenced_segments {}\n"
		 "positive_ack { %s }\nretransmission_timer {}\nduplicate_ack {}\n"
		 "rtt_estimation {}\nretransmit {}\nreliable_fifo {}\n%s\n",
		 bottleneck_acks, policy);
	memset(&bottleneck, 0, sizeof(bottleneck));
	rig_open(&bottleneck.rig, config, &(struct rig_options){ .link = link });
}

void bottleneck_run(int64_t duration_ns)
{
	const int64_t step_ns = 10 * NOPAL_MILLISECOND;

	bottleneck_look(&bottleneck.before, &bottleneck.bytes_before);
	for (int64_t at = 0; at < duration_ns; at += step_ns) {
		while (rig_send_bytes(&bottleneck.rig, BOTTLENECK_MESSAGE) == 0)
			continue;
		rig_run(&bottleneck.rig, step_ns);
	}
	bottleneck_look(&bottleneck.after, &bottleneck.bytes_after);
	bottleneck.duration_ns = duration_ns;
}

int64_t bottleneck_percent(int64_t rate_bps)
{
	double bits = 8.0 * (double)(bottleneck.bytes_after - bottleneck.bytes_before);

	return (int64_t)(100 * bits /
			 ((double)rate_bps * (double)bottleneck.duration_ns /
			  (double)NOPAL_SECOND));
}

uint64_t bottleneck_dropped(void)
{
	return bottleneck.after.overflowed - bottleneck.before.overflowed;
}

int64_t bottleneck_mean_queue_ns(void)
{
	uint64_t packets = bottleneck.after.entered - bottleneck.before.entered;

	return (bottleneck.after.queue_delay_sum_ns - bottleneck.before.queue_delay_sum_ns) /
	       (int64_t)(packets + 1);
}

void bottleneck_close(void)
{
	rig_close(&bottleneck.rig);
}
