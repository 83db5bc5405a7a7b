/* SPDX-License-Identifier: MIT */
/*
 * round_trips.h -- round trips of a message: plain UDP, the kernel's TCP, and configs, between two
 * processes or in the simulator.
 */
#ifndef NOPAL_ROUND_TRIPS_H
#define NOPAL_ROUND_TRIPS_H

#include "load/side.h"

enum round_trips_kind { ROUND_TRIPS_UDP, ROUND_TRIPS_TCP, ROUND_TRIPS_CONFIG };
enum { ROUND_TRIPS_MAX_BYTES = 1024 };

struct round_trips {
	enum round_trips_kind kind;
	enum side_way way;
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
/* The same of a config in virtual time.  False: out of memory. */
bool round_trips_simulate(struct round_trips *round_trips, const struct side_link *link);

#endif
