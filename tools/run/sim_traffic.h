/* SPDX-License-Identifier: MIT */
/*
 * sim_traffic.h -- messages of a simulated run: sent, received, verified.
 */
#ifndef NOPAL_SIM_TRAFFIC_H
#define NOPAL_SIM_TRAFFIC_H

#include "run/sim.h"

/* Bytes of a message that is long enough to tell its number. */
enum { SIM_HEAD_BYTES = 16 };
enum { SIM_SEEN_AT_ONCE = 8, SIM_SEEN_ALL = 0xff }; /* of a byte of bits */
static inline bool sim_traffic_seen(const uint8_t *bits, uint64_t number)
{
	return bits[number / SIM_SEEN_AT_ONCE] >> number % SIM_SEEN_AT_ONCE & 1;
}
bool sim_traffic_prepare(struct sim_run *run);
bool sim_traffic_open(struct sim_run *run, unsigned flow, struct nopal_endpoint *from,
		      struct nopal_endpoint *to);
/* Notes the counters of sessions that have not ended, and says what they wait for where that was
 * asked. */
void sim_traffic_finish(struct sim_run *run);
void sim_traffic_free(struct sim_run *run);
uint64_t sim_traffic_delivered(const struct sim_run *run);

#endif
