/* SPDX-License-Identifier: MIT */
/*
 * fetch_plan.h -- which server is asked for which part of a file, and when.  No I/O and no clock:
 * who uses it says what happened, and what time it is.
 *
 *            asked of a server            it came well, the first copy counts
 *     FREE ---------------------> ASKED ---------------------------------> HERE
 *       ^                           |
 *       +---------------------------+
 *         its server left, or is silent, or it came wrong
 *
 * A server has as much under way as it brings in a round trip and a while more: more for a fast
 * one, so that it never waits for us, and little for a slow one, so that little waits for it.  When
 * no part is free, who is idle is asked for what another would bring later than itself: the slowest
 * does not set the end.
 *
 * A server that brought a part wrong is put aside: nothing more is asked of it while there is
 * another that brought none.  When there is not, it is asked again, and never for what it brought
 * wrong: two disks with a bad place each have the file together.
 */
#ifndef NOPAL_FETCH_PLAN_H
#define NOPAL_FETCH_PLAN_H

#include "file/ranges.h"

enum {
	FETCH_SERVERS_MAX = 64,
	FETCH_WINDOW_MAX = 256, /* parts under way from one server */
	FETCH_APART_MAX = 960,	/* and from all */
	FETCH_WRONG_MAX = 8,	/* parts that one may bring wrong */
};

/* A part that one server was asked for, and its counters then. */
struct fetch_asked {
	uint64_t part;
	int64_t asked_ns, brought_ns;
	uint64_t brought;
	bool given_back; /* somebody else may bring it */
};

/* Parts that a server brought wrong, wherever it was meanwhile. */
struct fetch_wrong {
	unsigned count;
	uint64_t part[FETCH_WRONG_MAX];
};

struct fetch_server {
	bool there, silent;
	struct fetch_wrong wrong; /* any: it is put aside */
	uint64_t brought;	  /* bytes, twice or not */
	int64_t brought_ns;
	int64_t round_ns; /* from asking to having, at best; 0: not known */
	uint64_t rate;	  /* bytes a second; 0: not known */
	unsigned asked_count;
	struct fetch_asked asked[FETCH_WINDOW_MAX]; /* the oldest first */
};

struct fetch_plan {
	uint64_t size; /* of the file */
	uint32_t part_bytes;
	uint64_t parts, here, lowest; /* no part below the lowest is free */
	uint8_t *part;		      /* by how many it is asked now; or it is here */
	unsigned servers, window_max;
	struct fetch_server *server;
};

enum fetch_came {
	FETCH_NEW,
	FETCH_TWICE,   /* it is here already */
	FETCH_UNASKED, /* this server was not asked for it */
};

/* Nobody is there yet, and nothing is here.  False: no memory. */
bool fetch_plan_init(struct fetch_plan *plan, uint64_t size, uint32_t part_bytes, unsigned servers);
void fetch_plan_fini(struct fetch_plan *plan);
/* Before anybody is asked: this part is here, from an earlier run. */
void fetch_plan_have(struct fetch_plan *plan, uint64_t part);
void fetch_plan_join(struct fetch_plan *plan, unsigned server);
/* Parts that the server was asked for are free again. */
void fetch_plan_leave(struct fetch_plan *plan, unsigned server);
/* The next part to ask it for; false: none now. */
bool fetch_plan_ask(struct fetch_plan *plan, unsigned server, int64_t now_ns,
		    struct range *ret_part);
enum fetch_came fetch_plan_came(struct fetch_plan *plan, unsigned server, uint64_t offset,
				uint64_t length, int64_t now_ns);
/* The same of one that came wrong: it is free again, and its server is put aside. False: it was not
 * asked for, or this was one too many. */
bool fetch_plan_wrong(struct fetch_plan *plan, unsigned server, uint64_t offset, uint64_t length);
/* Does the server owe nothing, and has it brought wrong all that is missing? */
bool fetch_plan_is_useless(const struct fetch_plan *plan, unsigned server);
/* Now and then: what was asked of those that are silent is free again. */
void fetch_plan_look(struct fetch_plan *plan, int64_t now_ns);
bool fetch_plan_is_whole(const struct fetch_plan *plan);

#endif
