/* SPDX-License-Identifier: MIT */
/*
 * pair.h -- one simulated conversation, and all that can be seen of it: trace at the detail of
 * events, bytes on the wire, what was delivered, counters and ends of both sides.  For showing that
 * two ways of running a plan are one.
 *
 *     struct pair_run run = { .plan = plan, .link = "delay 10ms", .seed = 1 };
 *     struct pair_seen interpreted, fused;
 *     pair_run(&run, &fused);
 *     nopal_plan_interpret(plan);
 *     pair_run(&run, &interpreted);
 *     difference = pair_difference(&interpreted, &fused);
 *
 * The opener sends in bursts; the acceptor answers every fourth message.
 */
#ifndef NOPAL_TEST_PAIR_H
#define NOPAL_TEST_PAIR_H

#include <nopal/nopal.h>
#include "plan/plan.h"
#include "ports/world.h"
#include "support/suite.h"

enum { PAIR_OPENER, PAIR_ACCEPTOR, PAIR_SIDES };

struct pair;

struct pair_run {
	struct nopal_plan *plan;
	const char *link;      /* netem words */
	const char *calm_link; /* from calm_ns on; NULL: never */
	int64_t calm_ns;
	uint64_t seed;
	uint32_t messages; /* 0: 40 */
	bool sparse;	   /* short messages, one at a time, far apart */
	uint32_t instants; /* of the simulation, before it is given up; 0: 50000 */
	/* (optional) Called once at a time, with the sessions that live then. */
	void (*meddle)(struct pair *pair);
	int64_t meddle_ns;
	/* (optional) Called at the end of each session, before it is gone. */
	void (*look)(struct pair *pair, struct nopal_session *session);
};

struct pair_seen {
	uint64_t trace, wire, deliveries; /* hashes */
	uint64_t datagrams, delivered, delivered_bytes;
	uint32_t opened, outcomes[3];
	uint32_t ended[PAIR_SIDES]; /* 1 + enum nopal_end */
	struct nopal_counters counters[PAIR_SIDES];
};

struct pair {
	const struct pair_run *run;
	struct pair_seen *seen;
	struct nopal_world *world;
	struct nopal_session *session[PAIR_SIDES]; /* NULL: not alive */
	uint32_t pushed, messages;
	size_t longest;
	uint64_t random;
};

/* A run over a network of the suite, without its plan. */
struct pair_run pair_run_over(const struct suite_network *network, uint64_t seed);
/* A run so long that numbers of two bytes wrap, and that the runtime's own clocks strike. */
struct pair_run pair_long_run(void);
void pair_run(const struct pair_run *run, struct pair_seen *ret_seen);
/* NULL: they saw the same; else what differs first, in a static text. */
const char *pair_difference(const struct pair_seen *a, const struct pair_seen *b);

#endif
