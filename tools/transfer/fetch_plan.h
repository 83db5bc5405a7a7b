/* SPDX-License-Identifier: MIT */
/*
 * fetch_plan.h -- the assignment of a file's parts to servers, over time.  No I/O and no clock: its
 * user reports events, and the time.
 *
 *            asked of a server            it came well, the first copy counts
 *     FREE ---------------------> ASKED ---------------------------------> HERE
 *       ^                           |
 *       +---------------------------+
 *         its server left, or is silent, or it came wrong
 *
 * A server has as many parts under way as it brings in a round trip and a while more: many for a
 * fast server, so that it is never idle, and few for a slow one, so that few parts wait for it.
 * When no part is free, an idle server is asked for a part that another would bring later: the
 * slowest server does not set the end.
 *
 * A server that brought a wrong part is put aside: nothing more is asked of it while there is
 * another server without one.  When there is none, it is asked again, and never for a part that it
 * brought wrong: two disks with a bad place each have the file together.
 */
#ifndef NOPAL_FETCH_PLAN_H
#define NOPAL_FETCH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	FETCH_SERVERS_MAX = 64,
	FETCH_WINDOW_MAX = 256, /* parts under way from one server */
	FETCH_APART_MAX = 960,	/* and from all servers */
	FETCH_WRONG_MAX = 8,	/* wrong parts of one server */
};

/* A part that a server was asked for, and its counters then. */
struct fetch_asked {
	uint64_t part;
	int64_t asked_ns, brought_ns;
	uint64_t brought;
	bool given_back; /* another server may bring it */
};

/* Wrong parts of a server, in all its sessions. */
struct fetch_wrong {
	unsigned count;
	uint64_t part[FETCH_WRONG_MAX];
};

struct fetch_server {
	bool there, silent;
	struct fetch_wrong wrong; /* any: the server is put aside */
	uint64_t brought;	  /* bytes, twice or not */
	int64_t brought_ns;
	int64_t round_ns; /* from asking to having, at best; 0: not known */
	uint64_t rate;	  /* bytes a second; 0: not known */
	unsigned asked_count;
	struct fetch_asked asked[FETCH_WINDOW_MAX]; /* the oldest first */
};

struct fetch_plan {
	uint32_t part_bytes;	      /* of all parts but the last */
	uint64_t parts, here, lowest; /* no part below the lowest is free */
	uint8_t *part;		      /* how many servers are asked for it; or it is here */
	unsigned servers, window_max;
	struct fetch_server *server;
};

enum fetch_came {
	FETCH_NEW,
	FETCH_TWICE,   /* the part is here already */
	FETCH_UNASKED, /* this server was not asked for it */
};

/* Without servers, and without any of the parts.  False: no memory. */
bool fetch_plan_init(struct fetch_plan *plan, uint64_t parts, uint32_t part_bytes,
		     unsigned servers);
void fetch_plan_fini(struct fetch_plan *plan);
/* Before any request: this part is here, from an earlier run. */
void fetch_plan_have(struct fetch_plan *plan, uint64_t part);
void fetch_plan_join(struct fetch_plan *plan, unsigned server);
/* Parts that the server was asked for are free again. */
void fetch_plan_leave(struct fetch_plan *plan, unsigned server);
/* The next part to ask the server for; false: none now. */
bool fetch_plan_ask(struct fetch_plan *plan, unsigned server, int64_t now_ns, uint64_t *ret_part);
enum fetch_came fetch_plan_came(struct fetch_plan *plan, unsigned server, uint64_t part,
				uint64_t length, int64_t now_ns);
/* The same of a wrong part: the part is free again, and its server is put aside.  False: the server
 * was not asked for it, or this was one wrong part too many. */
bool fetch_plan_wrong(struct fetch_plan *plan, unsigned server, uint64_t part);
/* Does the server owe nothing, and has it brought all missing parts wrong? */
bool fetch_plan_is_useless(const struct fetch_plan *plan, unsigned server);
/* Called now and then: parts that silent servers owe are free again. */
void fetch_plan_look(struct fetch_plan *plan, int64_t now_ns);
bool fetch_plan_is_whole(const struct fetch_plan *plan);

#endif
