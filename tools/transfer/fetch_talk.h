/* SPDX-License-Identifier: MIT */
/*
 * fetch_talk.h -- one file from several servers: what is said to each, and who is asked for what.
 *
 *             opened          OFFER, END        its file       DATA: to who fetches
 *   OPENING ---------> ASKED -----------> OFFERED --------> GIVING
 *      ^                 |                  |                 |
 *      |  after a while  |  it died         |                 |   no such file,
 *    AWAY <--------------+------------------+-----------------+---------> OUT
 *                                                              or another one
 *
 * The file is chosen by majority: a file is known by its hash, that of all its blocks' hashes
 * (file/file_blocks.h).  A hash that more than half of the servers announce is taken at once; else
 * the hash that most of those announce that have answered a second after the first did, and of as
 * many that which came first.  The list of hashes comes from one that announced their hash, and is
 * compared with it: a server that gives another is left out, and the rest is counted again.  Then
 * those that announced another hash are left out, before any of them was asked for a byte.
 *
 * Each part that comes is one block, and is compared with its hash.  A server that gave other bytes
 * is put aside (fetch_plan.h), and its row says so.  What was asked of one that goes away is asked
 * of the others, at once; a server that comes, comes back, or was not there at first, is asked like
 * all.
 *
 * Nothing here knows a loop or a disk: who fetches calls fetch_tick() every FETCH_TICK_NS, and
 * keeps what it is given.
 */
#ifndef NOPAL_FETCH_TALK_H
#define NOPAL_FETCH_TALK_H

#include <nopal/microprotocol.h>
#include "file/file_blocks.h"
#include "file/transfer.h"
#include "peer/live_judge.h"
#include "transfer/fetch_plan.h"
#include "transfer/send_table.h"

#define FETCH_TICK_NS (100 * NOPAL_MILLISECOND)

struct fetch;

enum fetch_state {
	FETCH_AWAY, /* to be tried, or to be tried again */
	FETCH_OPENING,
	FETCH_ASKED,
	FETCH_OFFERED,
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
	uint64_t hash;		    /* that it announced */
	unsigned turn;		    /* in which it did */
	unsigned aborts;	    /* while it was asked, one after another */
	bool wrong;		    /* what it gave, once: its row is written */
	int64_t again_ns, heard_ns;
};

/* Calls to the user of a fetch. */
struct fetch_hooks {
	/* The file is known: fetch->offer, fetch->hash, fetch->blocks. What of it is
	 * here is told by fetch_have(); fetch_begin() then asks for the rest, now or later. */
	void (*found)(void *user);
	/* A block that was not here before; it is the file's. */
	void (*part)(void *user, uint64_t offset, const struct nopal_message *message);
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
	bool given; /* `hash` is: the file with this one is wanted, and no other */
	uint64_t hash;
	/* its own */
	struct nopal_session *group; /* NULL before and after its life */
	unsigned destination;	     /* a property */
	struct live_judge *judge;    /* of the group; NULL: nobody judges */
	bool known, begun, closing;
	struct transfer_note offer;
	struct fetch_one *lister;  /* who is asked for the list; NULL: nobody */
	struct file_blocks blocks; /* what came of it */
	unsigned turns;		   /* so many have answered */
	struct fetch_plan parts;
	int64_t started_ns, alive_ns, closing_ns, answered_ns, listed_ns;
};

/* Servers are there, with their addresses and rows.  False: no memory. */
bool fetch_open(struct fetch *fetch);
void fetch_tick(struct fetch *fetch);
/* Once it was found: this block is here, and it is the file's. */
void fetch_have(struct fetch *fetch, uint64_t index);
/* Asks for all that is not here. */
void fetch_begin(struct fetch *fetch);
/* Says to all that no more is wanted, and lets them go. */
void fetch_close(struct fetch *fetch);
/* When the world has ended. */
void fetch_fini(struct fetch *fetch);

/* For the choice of the file (fetch_choice.c). */

int64_t fetch_now(const struct fetch *fetch);
void fetch_say(struct fetch_one *one, struct transfer_note *note);
void fetch_leave_out(struct fetch *fetch, struct fetch_one *one, enum table_state state,
		     const char *why, const char *fix);
/* The server has the file that is known. */
void fetch_join(struct fetch *fetch, struct fetch_one *one);

#endif
