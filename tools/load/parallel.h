/* SPDX-License-Identifier: MIT */
/*
 * parallel.h -- connections side by side between two simulated hosts, the same data over each, one
 * way: what crosses the network for it, and how even they are.
 *
 *     struct parallel run = { .plan = plan, .place = { .forward = link, .reverse = link },
 *                             .connections = 100, .messages = 20 };
 *     if (parallel_run(&run))
 *             printf("%llu\n", (unsigned long long)run.control_packets);
 *
 * Whether they share a flow is a matter of the plan.
 */
#ifndef NOPAL_PARALLEL_H
#define NOPAL_PARALLEL_H

#include "load/side.h"

enum {
	PARALLEL_MAX = 1000, /* connections */
	PARALLEL_MESSAGE_BYTES = 11200,
};

struct parallel {
	struct nopal_plan *plan;
	struct side_place place;
	int connections, messages; /* of each */
	int64_t patience_ns;

	/* what came of it */
	int64_t took_ns; /* from the first opening to the last delivery */
	/* Both ways.  Control is all that carries no data: acks, windows, handshakes. */
	uint64_t data_packets, control_packets, control_bytes;
	uint64_t lost_packets; /* of both, by the queue and by the link */
	double fairness;       /* Jain's index when half of all bytes were there */
};

/* False: out of memory, a session ended, or not all was there in time. */
bool parallel_run(struct parallel *parallel);

/* How a connection begins beside one that is there already. */
struct parallel_joining {
	struct nopal_plan *plan;
	struct side_place place;

	/* what came of it: from its opening, of the first and of the second */
	int64_t opened_ns[2];  /* till the opener may send */
	int64_t arrived_ns[2]; /* till its first message was at the peer */
	uint64_t packets[2];   /* both ways, till then */
};
/* The same. */
bool parallel_join(struct parallel_joining *joining);

/* Jain's index: 1 where all are the same. */
double parallel_fairness(const uint64_t *bytes, int count);

#endif
