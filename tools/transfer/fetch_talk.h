/* SPDX-License-Identifier: MIT */
/*
 * fetch_talk.h -- one file from several servers: the notes to each, and which parts it is asked
 * for.
 *
 *             opened          OFFER, END        its file       DATA: to its user
 *   OPENING ---------> ASKED -----------> OFFERED --------> GIVING
 *      ^                 |                  |                 |
 *      |  after a while  |  it died         |                 |   no such file,
 *    AWAY <--------------+------------------+-----------------+---------> OUT
 *                                                              or another one
 *
 * The file is chosen by majority: a file is known by its hash, that of all its blocks' hashes
 * (file/file_blocks.h).  A hash that more than half of the servers announce is taken at once; else,
 * a second after the first answer, the hash that most servers have announced, and of several such
 * hashes the first.  The list of hashes comes from a server that announced the hash, and is
 * compared with it: a server that gives another list is left out, and the others are counted again.
 * Servers that announced another hash are left out before any of them was asked for a byte.
 *
 * Each part that comes is one block, and is compared with its hash.  A server that gave other bytes
 * is put aside (fetch_plan.h), and its row says so.  Parts that a server owed when it went away are
 * asked of the others, at once; a server that comes late, or comes back, is asked like all others.
 *
 * A fetch knows neither loop nor disk: its user calls fetch_tick() every FETCH_TICK_NS, and keeps
 * the parts that it is given.
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

/* Calls to the user of a fetch. */
struct fetch_hooks {
	/* The file is known: fetch->offer, fetch->hash, fetch->blocks.  Its user then calls
	 * fetch_plan_have() for each block on disk, and fetch_begin(), now or later. */
	void (*found)(void *user);
	/* A new block of the file. */
	void (*part)(void *user, uint64_t offset, const struct nopal_message *message);
	/* All blocks are here. */
	void (*whole)(void *user);
	/* No server is left, or none came for a while. */
	void (*deserted)(void *user, const char *why, const char *fix);
	/* After fetch_close(): no session is left. */
	void (*closed)(void *user);
};

struct fetch {
	struct nopal_endpoint *endpoint;
	struct nopal_world *world;
	struct nopal_plan *plan;
	const char *name;
	struct destination *ones;
	unsigned count;
	int64_t wait_ns; /* longest time without any server */
	const struct fetch_hooks *hooks;
	void *user;
	bool given; /* the user gave `hash`: no other file is wanted */
	uint64_t hash;
	/* private */
	struct nopal_session *group; /* NULL before and after its life */
	unsigned destination;	     /* a property */
	struct live_judge *judge;    /* of the group; NULL: none */
	bool known, begun, closing;
	struct transfer_note offer;
	struct destination *lister; /* the server that is asked for the list; NULL: none */
	struct file_blocks blocks;  /* the part of the list that came */
	unsigned turns;		    /* announcements so far */
	struct fetch_plan parts;
	int64_t started_ns, alive_ns, closing_ns, answered_ns, listed_ns;
};

/* Opens sessions to `ones`, whose addresses are set.  False: no memory. */
bool fetch_open(struct fetch *fetch);
void fetch_tick(struct fetch *fetch);
/* Asks for all blocks that are not here. */
void fetch_begin(struct fetch *fetch);
/* Tells all servers that no more is wanted, and ends their sessions. */
void fetch_close(struct fetch *fetch);
/* When the world has ended. */
void fetch_fini(struct fetch *fetch);

/* ------------------------------------------------ fetch_choice.c: the file that most announce */

/* A server that has offered it announces this file. */
void fetch_announced(struct fetch *fetch, struct destination *one, const struct transfer_note *end);
void fetch_listed(struct fetch *fetch, struct destination *one, const struct nopal_message *message,
		  const struct transfer_note *note);
/* A server answered, left, or is silent: chooses a file, where none is known yet. */
void fetch_choose(struct fetch *fetch);
/* Calls of the choice to fetch_talk.c. */
int64_t fetch_now(const struct fetch *fetch);
void fetch_say(struct destination *one, struct transfer_note *note);
void fetch_leave_out(struct fetch *fetch, struct destination *one, enum table_state state,
		     const char *why, const char *fix);
/* The server has the file that is known. */
void fetch_join(struct fetch *fetch, struct destination *one);

#endif
