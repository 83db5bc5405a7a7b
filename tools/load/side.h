/* SPDX-License-Identifier: MIT */
/*
 * side.h -- one side of a workload by a config: on a loop of its own, with a partner in another
 * process, or in the simulator.
 *
 * A workload has a struct of its own that begins with a struct side, which is the `user` of its
 * callbacks.  It notes progress by side_heard(); a side without progress for `patience_ns` is over.
 */
#ifndef NOPAL_SIDE_H
#define NOPAL_SIDE_H

#include "load/pair.h"

/* A blocking receive, for a config its loop; receives that do not block, for a config
 * nopal_live_poll; its loop, that polls for a while after each arrival. */
enum side_way { SIDE_SLEEP, SIDE_SPIN, SIDE_LINGER, SIDE_WAYS };

struct side {
	enum side_way way;
	int64_t patience_ns; /* of a side that opens; 0: it waits for ever */
	struct loop *loop;   /* NULL: the side is simulated */
	struct loop_event *tick;
	struct nopal_world *world;
	struct nopal_session *session;
	int64_t heard_ns;
	bool over;
};

int64_t side_now(const struct side *side);
void side_heard(struct side *side);
void side_over(struct side *side);
/* The callback `ended` of a session whose end is the side's. */
void side_on_ended(struct nopal_session *session, enum nopal_end end, const char *text, void *user);

/* From within the partner: accepts sessions of the plan, for ever. */
void side_listen(struct side *side, const struct bench_place *place, struct nopal_plan *plan,
		 const struct nopal_callbacks *callbacks, int tell);
/* Opens a session to the partner, and runs until the side is over. */
void side_open(struct side *side, const struct bench_place *place, uint16_t port,
	       struct nopal_plan *plan, const struct nopal_callbacks *callbacks);

/* Two simulated hosts over this link. */
struct side_link {
	const struct nopal_link *forward, *reverse;
	uint64_t seed;
};
struct side_peers {
	struct nopal_plan *plan;
	const struct nopal_callbacks *opens, *listens;
	void *opener, *listener; /* their `user` */
};
/* Host 0 opens a session to host 1 of a fresh world.  NULL: out of memory. */
struct nopal_session *side_connect(struct nopal_world *world, const struct side_link *link,
				   const struct side_peers *peers);
/* Both sides in a world of their own, until the opener is over.  False: out of memory. */
bool side_simulate(struct side *opener, struct side *listener, const struct side_link *link,
		   const struct side_peers *peers);

#endif
