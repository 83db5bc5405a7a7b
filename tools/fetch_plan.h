/* SPDX-License-Identifier: MIT */
/*
 * fetch_plan.h -- which server is asked for which part of a file, and when.  No I/O
 * and no clock: who uses it says what happened, and what time it is.
 *
 *            asked of a server            it came, the first copy counts
 *     FREE ---------------------> ASKED ---------------------------------> HERE
 *       ^                           |
 *       +---------------------------+
 *         its server left, or is silent
 *
 * A server has as much under way as it brings in a round trip and a while more: more
 * for a fast one, so that it never waits for us, and little for a slow one, so that
 * little waits for it.  When no part is free, who is idle is asked for what another
 * would bring later than itself: the slowest does not set the end.
 */
#ifndef NOPAL_FETCH_PLAN_H
#define NOPAL_FETCH_PLAN_H

#include "islands.h"

enum {
	FETCH_SERVERS_MOST = 64,
	FETCH_WINDOW_MOST = 256, /* parts under way from one server */
	FETCH_APART_MOST = ISLANDS_MOST - FETCH_SERVERS_MOST, /* and from all */
};

/* What one server was asked for, and where it stood then. */
struct fetch_asked {
	uint64_t part;
	int64_t asked_ns, brought_ns;
	uint64_t brought;
	bool given_back; /* somebody else may bring it */
};

struct fetch_server {
	bool there, silent;
	uint64_t brought; /* bytes, twice or not */
	int64_t brought_ns;
	int64_t round_ns; /* from asking to having, at best; 0: not known */
	uint64_t rate;	  /* bytes a second; 0: not known */
	unsigned asked_count;
	struct fetch_asked asked[FETCH_WINDOW_MOST]; /* the oldest first */
};

struct fetch_plan {
	uint64_t from, size; /* of the file, these bytes are wanted */
	uint32_t part_bytes;
	uint64_t parts, here, lowest; /* no part below the lowest is free */
	uint8_t *part; /* by how many it is asked now; or it is here */
	unsigned servers, window_most;
	struct fetch_server *server;
};

enum fetch_came {
	FETCH_NEW,
	FETCH_TWICE,   /* it is here already */
	FETCH_UNASKED, /* this server was not asked for it */
};

/* Nobody is there yet.  False: no memory. */
bool fetch_plan_init(struct fetch_plan *plan, uint64_t from, uint64_t size,
		     uint32_t part_bytes, unsigned servers);
void fetch_plan_fini(struct fetch_plan *plan);
void fetch_plan_join(struct fetch_plan *plan, unsigned server);
/* What it was asked for is free again. */
void fetch_plan_leave(struct fetch_plan *plan, unsigned server);
/* The next part to ask it for; false: none now. */
bool fetch_plan_ask(struct fetch_plan *plan, unsigned server, int64_t now_ns,
		    struct island *ret_part);
enum fetch_came fetch_plan_came(struct fetch_plan *plan, unsigned server,
				uint64_t offset, uint64_t length,
				int64_t now_ns);
/* Now and then: what was asked of those that are silent is free again. */
void fetch_plan_look(struct fetch_plan *plan, int64_t now_ns);
bool fetch_plan_is_whole(const struct fetch_plan *plan);

#endif
