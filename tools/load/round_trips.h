/* SPDX-License-Identifier: MIT */
/*
 * round_trips.h -- round trips of a message: plain UDP, the kernel's TCP, and configs, between two
 * processes or in the simulator.
 */
#ifndef NOPAL_ROUND_TRIPS_H
#define NOPAL_ROUND_TRIPS_H

#include "load/side.h"

enum { ROUND_TRIPS_MAX_BYTES = 1024 };

struct round_trips {
	enum side_protocol protocol;
	enum side_way way;
	struct nopal_plan *plan; /* of a config */
	uint32_t bytes;		 /* of a message; TCP carries at least one */
	int64_t warm, count;	 /* not counted, and counted */
	int64_t patience_ns;	 /* no answer for so long: it ends */
	int64_t *round_trips_ns; /* out: each that was counted */
	int64_t done;		 /* out: how many were counted; negative: none was */
};

/* False: as side_work().  Where an answer stayed out, fewer are done. */
bool round_trips_run(struct round_trips *round_trips, const struct side_place *place);

#endif
