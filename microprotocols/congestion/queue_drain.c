/* SPDX-License-Identifier: MIT */
/*
 * queue_drain -- slow phases of BBR that last until the queue is gone
 *
 * An estimate of the bandwidth that is a little too large would build a queue over many phases: the
 * slow phase lasts until the queue is gone, or `most` round trips.  And a look for the least round
 * trip needs no empty pipe: it keeps the share `probe` of a product, for a round or 200 ms.
 *
 * Paper:     none; a modification of BBR (bbr_congestion).
 * Differs:   nothing.
 */
#include "bbr_model.h"

enum { QUEUE_DRAIN_MAX, QUEUE_DRAIN_PROBE };
enum { QUEUE_DRAIN_PER_PERCENT = 10000 }; /* parts per million */

struct queue_drain_parameters {
	int64_t max, probe_ppm;
};

static int queue_drain_open(struct nopal_at at)
{
	const struct queue_drain_parameters *set = nopal_parameters(at);

	nopal_shared_set(at, QUEUE_DRAIN_MAX, set->max);
	nopal_shared_set(at, QUEUE_DRAIN_PROBE, set->probe_ppm / QUEUE_DRAIN_PER_PERCENT);
	return 0;
}

const struct nopal_microprotocol nopal_queue_drain = {
	NOPAL_DESCRIBE(queue_drain, congestion,
		       "slow phases of BBR that last until the queue is gone"),
	BBR_MODIFIER,
	.parameters_size = sizeof(struct queue_drain_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(queue_drain, max, "most", COUNT, "4", "1", "100",
			     "round trips of a slow phase"),
		NOPAL_NUMBER(queue_drain, probe_ppm, "probe", PERCENT, "50%", "0%", "100%",
			     "of a bandwidth-delay product, kept in probe rtt; 0%: four segments")),
	.shared = NOPAL_SHARED([QUEUE_DRAIN_MAX] = { BBR_SLOW_ROUNDS(NOPAL_WRITE) },
			       [QUEUE_DRAIN_PROBE] = { BBR_PROBE_RTT_PERCENT(NOPAL_WRITE) }),
	.open = queue_drain_open,
};
