/* SPDX-License-Identifier: MIT */
/*
 * delays.h -- flows of one kind that share a bottleneck, and how long their messages take.
 *
 * A source writes whenever it may, as UDTCP's paper has it: the delay of a message is from the
 * instant at which the session, or the socket, took it, to the instant at which the application of
 * the receiver has it.
 *
 *     struct delays run = { .plan = udtcp, .flows = 5, .bytes = 1400, .seed = 1,
 *                           .edge = edge, .forward = there, .reverse = back,
 *                           .run_ns = 60 * NOPAL_SECOND };
 *     if (delays_run(&run))
 *             printf("%g ms\n", delays_quantile_ms(&run.seen, 0.99));
 */
#ifndef NOPAL_DELAYS_H
#define NOPAL_DELAYS_H

#include "load/side.h"

enum {
	DELAYS_FLOWS = 16,
	DELAYS_MIN_BYTES = 16, /* of a message: its time and its number */
	DELAYS_MAX_BYTES = 1455,
	DELAYS_BINS = 5000, /* of a millisecond; the last one has all that took longer */
};

/* Messages of one flow, or of several. */
struct delays_seen {
	uint64_t count;
	uint64_t missing;  /* were sent before others that came, and did not come */
	uint64_t together; /* came at the instant at which the one before it in the flow did */
	uint64_t bunches;  /* of one message and those that came together with it */
	double sum_ms, squares_ms;
	double steps_ms; /* between delays of neighbours */
	uint32_t bins[DELAYS_BINS];
};

struct delays {
	struct nopal_plan *plan; /* NULL: the kernel's TCP, which is live alone */
	int send_buffer;	 /* of the kernel's TCP, bytes */
	int flows;
	uint32_t bytes; /* of a message */
	/* Of each sender to the bottleneck, and the bottleneck; simulated. */
	struct nopal_link edge, forward, reverse;
	uint64_t seed;
	/* Each flow begins at random within that time; what is sent in the first `warm_ns` after it
	 * is not counted, and what is sent in `run_ns` then is. */
	int64_t stagger_ns, warm_ns, run_ns;

	/* what came of it, of all flows */
	struct delays_seen seen;
};

/* Simulated.  False: out of memory, or a session ended before its time. */
bool delays_run(struct delays *run);
/* Live: all flows at once from process to process, between the two hosts.  False: the machine
 * refused. */
bool delays_run_live(struct delays *run, const struct bench_place *pair);

/* Of what came; NAN: nothing did. */
double delays_quantile_ms(const struct delays_seen *seen, double share);
/* The share that took from `from_ms` to below `to_ms`; of later ones where `to_ms` is 0. */
double delays_share(const struct delays_seen *seen, int from_ms, int to_ms);
/* The deviation of delays from their mean; the mean step from message to message. */
double delays_deviation_ms(const struct delays_seen *seen);
double delays_step_ms(const struct delays_seen *seen);
/* The share of all that was sent which did not come; of what came, together with the one
 * before it. */
double delays_missing(const struct delays_seen *seen);
double delays_together(const struct delays_seen *seen);
/* Of what came, those that others waited for and came together with. */
double delays_bunches(const struct delays_seen *seen);

#endif
