/* SPDX-License-Identifier: MIT */
/*
 * traffic.h -- one bulk flow from memory to memory through either core, so that what is compared
 * differs in the core alone.
 *
 * The sender walks a buffer of fixed random bytes in messages of one train; the receiver counts,
 * and where it is asked to, compares every byte.
 */
#ifndef NOPAL_TRAFFIC_H
#define NOPAL_TRAFFIC_H

#include "plan/plan.h"
#include "ports/world.h"
#include "monolith.h"

struct traffic {
	/* set by the caller */
	bool composed, sends, check;
	struct nopal_plan *plan;
	const struct monolith_setup *setup;
	uint64_t bytes; /* to send; 0: until `end_s` */
	double end_s;	/* of `clock_s` */
	uint32_t walk_bytes;
	double (*clock_s)(void); /* NULL: nobody asks for seconds */
	void (*over)(struct traffic *traffic);
	void *user;

	struct nopal_buffer *walk;
	uint32_t message_bytes, at;
	uint64_t sent, received;
	double first_s, last_s;
	bool differs, ended, ended_well;
	struct nopal_session *session;
	struct monolith_connection *connection;
	struct monolith_counters counters; /* when it ended */
};

/* False: a problem was added. */
bool traffic_open(struct traffic *traffic, struct nopal_world *world,
		  const struct nopal_address *local, const struct nopal_address *peer,
		  struct nopal_problems *problems);
void traffic_free(struct traffic *traffic);

#endif
