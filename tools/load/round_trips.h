/* SPDX-License-Identifier: MIT */
/*
 * round_trips.h -- round trips of a message: plain UDP, the kernel's TCP, and configs, between two
 * processes or in the simulator.
 */
#ifndef NOPAL_ROUND_TRIPS_H
#define NOPAL_ROUND_TRIPS_H

#include "load/pair.h"

enum round_trips_kind { ROUND_TRIPS_UDP, ROUND_TRIPS_TCP, ROUND_TRIPS_CONFIG };
/* A blocking receive, for a config its loop; receives that do not block, for a config
 * nopal_live_poll; its loop, that polls for a while after each arrival. */
enum round_trips_way { ROUND_TRIPS_SLEEP, ROUND_TRIPS_SPIN, ROUND_TRIPS_LINGER, ROUND_TRIPS_WAYS };
enum { ROUND_TRIPS_MAX_BYTES = 1024 };

struct round_trips {
	enum round_trips_kind kind;
	enum round_trips_way way;
	struct nopal_plan *plan; /* of a config */
	uint32_t bytes;		 /* of a message; TCP carries at least one */
	int64_t warm, count;	 /* not counted, and counted */
	int64_t patience_ns;	 /* no answer for so long: it ends */
	int64_t *round_trips_ns; /* out: each that was counted */
	int64_t done;		 /* out: how many were counted; negative: none was */
};

/* Live, this process and a partner.  False: the machine refused.  Where an answer stayed out, fewer
 * are done. */
bool round_trips_run(struct round_trips *round_trips, const struct bench_place *place);

/* Two simulated hosts over this link. */
struct round_trips_link {
	const struct nopal_link *forward, *reverse;
	uint64_t seed;
};
struct round_trips_peers {
	struct nopal_plan *plan;
	const struct nopal_callbacks *opens, *listens;
	void *opener, *listener; /* their `user` */
};
/* Host 0 opens a session to host 1 of a fresh world.  False: out of memory. */
bool round_trips_peers_open(struct nopal_world *world, const struct round_trips_link *link,
			    const struct round_trips_peers *peers);
/* The same of a config in virtual time.  False: out of memory. */
bool round_trips_simulate(struct round_trips *round_trips, const struct round_trips_link *link);

#endif
