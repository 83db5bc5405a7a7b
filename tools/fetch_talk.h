/* SPDX-License-Identifier: MIT */
/*
 * fetch_talk.h -- one file from several servers: what is said to each, and who is
 * asked for what.
 *
 *             opened          OFFER, END       DATA: given to who fetches
 *   OPENING ---------> ASKED -----------> GIVING
 *      ^                 |                  |
 *      |  after a while  |  it died         |        no such file, or another one
 *    AWAY <--------------+------------------+-----------------------> OUT
 *
 * The first that answers says which file it is: its size and hash; who has another
 * one is left out.  What was asked of one that goes away is asked of the others, at
 * once; a server that comes, comes back, or was not there at first, is asked like all.
 *
 * Nothing here knows a loop or a disk: who fetches calls fetch_tick() every
 * FETCH_TICK_NS, and keeps what it is given.
 */
#ifndef NOPAL_FETCH_TALK_H
#define NOPAL_FETCH_TALK_H

#include "fetch_plan.h"
#include "microprotocol.h"
#include "send_table.h"
#include "transfer.h"

#define FETCH_TICK_NS (100 * NOPAL_MILLISECOND)

struct fetch;

enum fetch_state {
	FETCH_AWAY, /* to be tried, or to be tried again */
	FETCH_OPENING,
	FETCH_ASKED,
	FETCH_GIVING,
	FETCH_OUT, /* for good: its row says why */
};

struct fetch_one {
	struct nopal_address address;
	struct table_row *row;
	uint32_t id; /* in the group; 0: it is not there */
	enum fetch_state state;
	struct transfer_outbox out;
	struct transfer_note offer; /* of type OFFER, once it came */
	int64_t again_ns, heard_ns;
};

/* What who fetches is told. */
struct fetch_hooks {
	/* It is known which file it is: fetch->offer, fetch->hash.  fetch_begin()
	 * then asks for it, now or later. */
	void (*found)(void *user);
	/* What was not here before. */
	void (*part)(void *user, uint64_t offset,
		     const struct nopal_message *message);
	/* All of it is here. */
	void (*whole)(void *user);
	/* Nobody is left, and nobody came for a while. */
	void (*deserted)(void *user, const char *why, const char *fix);
	/* After fetch_close(): no session is left. */
	void (*closed)(void *user);
};

struct fetch {
	struct nopal_endpoint *endpoint;
	struct nopal_world *world;
	struct nopal_plan *plan;
	const char *name;
	struct fetch_one *ones;
	unsigned count;
	int64_t wait_ns; /* so long nobody need be there */
	const struct fetch_hooks *hooks;
	void *user;
	/* its own */
	struct nopal_session *group; /* NULL before and after its life */
	unsigned destination;	     /* a property */
	bool known, begun, closing;
	struct transfer_note offer;
	uint64_t hash;
	struct fetch_plan parts;
	int64_t started_ns, alive_ns, closing_ns;
};

/* Servers are there, with their addresses and rows.  False: no memory. */
bool fetch_open(struct fetch *fetch);
void fetch_tick(struct fetch *fetch);
/* Asks for all from this offset on.  False: no memory. */
bool fetch_begin(struct fetch *fetch, uint64_t from);
/* Says to all that no more is wanted, and lets them go. */
void fetch_close(struct fetch *fetch);
/* When the world has ended. */
void fetch_fini(struct fetch *fetch);

#endif
