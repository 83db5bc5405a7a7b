/* SPDX-License-Identifier: MIT */
/*
 * arena.h -- an opener and one or two acceptors of one composition, in the simulated world, and
 * between them a network that loses everything: each datagram that leaves is taken down, and
 * arrives where and when a script says.
 *
 *     arena_open(&arena, family);
 *     arena_settle(&arena, 4);              the session opens
 *     arena_say(&arena, slot, 100, 0, 0);
 *     if ((datagram = arena_next(&arena)))
 *             arena_deliver(&arena, datagram);
 *     arena_close(&arena);
 *
 * The plan is kept between executions.  World, endpoints and sessions are made anew, from the same
 * seed, so that an input does the same each time that it runs.
 *
 * A run ends by abort() where a part releases a bit that it does not hold, where a session goes
 * without a word, and where an endpoint answers whom it does not know with as much as was said, or
 * more.
 */
#ifndef NOPAL_FUZZ_ARENA_H
#define NOPAL_FUZZ_ARENA_H

#include "families.h"
#include "session/endpoint_sessions.h"

enum {
	ARENA_SESSIONS = 8, /* at a time; more are refused */
	ARENA_KEPT = 4,	    /* messages that one of them has not given back */
	ARENA_FLYING = 64,  /* datagrams between the hosts; the oldest is lost */
	ARENA_SEEN = 16,    /* of the latest ones, which a script may forge */
	ARENA_DATAGRAM = 2048,
	ARENA_MESSAGE = 4096, /* bytes of the longest that is sent */
	ARENA_PORT = 2000,    /* of the acceptors; 1000 is the opener's */
	ARENA_OPENER_PORT = 1000,
};

struct arena_datagram {
	struct nopal_address from, to;
	bool to_opener;
	size_t length;
	uint8_t bytes[ARENA_DATAGRAM];
};

/* A session that lives; the application's `user` of it. */
struct arena_slot {
	struct arena *arena;
	struct nopal_session *session; /* NULL: free */
	bool opener;
	unsigned kept;
	struct nopal_message *keeps[ARENA_KEPT];
};

struct arena {
	const struct family *family;
	struct nopal_plan *plan;
	struct nopal_world *world;
	/* first and second address; the first of the second acceptor */
	struct nopal_endpoint *opener[2], *acceptor[2], *other;
	struct arena_slot slots[ARENA_SESSIONS];
	bool keeps; /* messages, until it is told to give them back */
	/* A delivered message is one that was sent; else the run ends here. */
	bool verifies;
	struct nopal_address nat; /* the opener's, for others; port 0: its own */
	struct arena_datagram flying[ARENA_FLYING];
	unsigned first, count; /* of those that fly */
	struct arena_datagram seen[ARENA_SEEN];
	unsigned seen_count;	    /* in all: the last is at (seen_count - 1) % ARENA_SEEN */
	struct nopal_address asked; /* where a datagram arrives, and */
	size_t answered;	    /* bytes that left there since */
	uint64_t cookie;
	unsigned opened, delivered;
};

/* False: this build cannot run the family.  No session is open yet. */
bool arena_open(struct arena *arena, const struct family *family);
/* Ends all that lives, and aborts where a part released a bit that it did not hold. */
void arena_close(struct arena *arena);

/* From the opener to the first acceptor, by one way of opening or another.  Where the opener has a
 * rendezvous already, the acceptor goes to meet the opener. */
enum arena_way { ARENA_CONNECT, ARENA_STREAM, ARENA_RENDEZVOUS, ARENA_WAYS };
void arena_start(struct arena *arena, enum arena_way way);
/* A session opens, gets a ticket where the family has early data, and has closed on return. */
void arena_get_ticket(struct arena *arena);
/* The first acceptor is killed, and started again with the same reset key, or another. */
void arena_restart(struct arena *arena, bool same_key);
/* A NAT before the opener gives it another port, or another host's address too.  What goes to its
 * own address still arrives. */
void arena_rebind(struct arena *arena, uint16_t port, bool host);
/* The n-th living session, modulo their number; NULL: none lives. */
struct arena_slot *arena_slot(struct arena *arena, unsigned n);
/* A message whose bytes tell that it is one of ours, with a property by its place in the table of
 * names; 0: without any. */
void arena_say(struct arena *arena, struct arena_slot *slot, size_t length, unsigned property,
	       uint64_t value);
void arena_give_back(struct arena_slot *slot);

/* The oldest datagram that flies, which flies no more; valid until the next call. NULL: none
 * does. */
struct arena_datagram *arena_next(struct arena *arena);
/* One of the latest that left, `back` before the last; NULL: none did. */
struct arena_datagram *arena_seen(struct arena *arena, unsigned back);
/* The datagram arrives now, at every endpoint that it is for. */
void arena_deliver(struct arena *arena, const struct arena_datagram *datagram);
/* The datagram flies once more, behind all others. */
void arena_delay(struct arena *arena, const struct arena_datagram *datagram);
/* Virtual time passes, of which one execution has some minutes. */
void arena_pass(struct arena *arena, int64_t duration_ns);
/* So many times 10 ms pass, and what flies arrives at the end of each. */
void arena_settle(struct arena *arena, unsigned rounds);

#endif
