/* SPDX-License-Identifier: MIT */
/*
 * burst.h -- many messages one way and one answer when all are there: the bandwidth test of CTP's
 * paper, by plain UDP, the kernel's TCP and configs, between two processes or in the simulator.
 */
#ifndef NOPAL_BURST_H
#define NOPAL_BURST_H

#include "load/side.h"

enum { BURST_MAX_BYTES = 1400 };

struct burst {
	enum side_protocol protocol;
	struct nopal_plan *plan; /* of a config */
	uint32_t bytes;		 /* of a message: 8 at least */
	uint32_t count;		 /* of messages */
	int warm;		 /* bursts before the one that counts */
	int64_t patience_ns;	 /* no answer for so long: it ends */
	bool done;		 /* out: the answer came */
	int64_t sender_ns;	 /* out: from the first transmission to the answer */
	int64_t receiver_ns;	 /* out: from the first arrival to the last */
};

/* False: as side_work(). */
bool burst_run(struct burst *burst, const struct side_place *place);

#endif
