/* SPDX-License-Identifier: MIT */
/*
 * playout.h -- a stream that is played while it arrives: what comes on time, late and never,
 * through UDP relays on this machine or in the simulator.
 *
 * The player's clock starts with the first message that arrives: number i is due i intervals and
 * the buffer's time after number 0 would have come.
 */
#ifndef NOPAL_PLAYOUT_H
#define NOPAL_PLAYOUT_H

#include "load/side.h"

struct playout {
	struct nopal_plan *plan;
	uint32_t bytes, count; /* of a message: 8 at least; of messages */
	int64_t interval_ns, buffer_ns;
	int link; /* over that of which place */
	/* Out.  What is not there in the end is late where the plan is reliable, and lost where it
	 * is not. */
	uint32_t on_time, late, lost;
};

/* Live, all of them at once in one process, by relays over the places' links; simulated, each in a
 * world of its own.  False: the machine refused, which was said. */
bool playout_run(struct playout *playouts, int count, const struct side_place *places,
		 int place_count);

#endif
