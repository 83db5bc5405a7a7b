/* SPDX-License-Identifier: MIT */
/*
 * send_table.h -- progress and results of a file that goes to several peers, or comes from them: a
 * line for each peer on the way, and a table at the end of the file.
 */
#ifndef NOPAL_SEND_TABLE_H
#define NOPAL_SEND_TABLE_H

#include "peer/progress.h"

enum table_state {
	TABLE_WAITING, /* nothing was sent to the peer yet */
	TABLE_TAKING,
	TABLE_COMPLETE, /* the file is whole, its hash agrees, and it is on the peer's disk */
	TABLE_HERE,	/* the same, and it was there before */
	TABLE_SHARE,	/* the peer has, or gave, its part of a file that is spread */
	TABLE_REFUSED,
	TABLE_UNREACHED,
	TABLE_DIED,
	TABLE_FAILED,
};

struct table_row {
	const char *peer; /* as the user gave its address */
	enum table_state state;
	char *why;	      /* or NULL */
	const char *fix;      /* or NULL */
	uint64_t bytes;	      /* that arrived at the peer; or that the peer gave */
	uint64_t twice_bytes; /* that the peer gave after others */
	int64_t took_ns;      /* until the state was known */
};

struct table {
	struct progress progress;
	struct progress_file file;
	struct table_row *rows;
	unsigned count;
	unsigned needed; /* peers that must have the file whole */
	const char *mode;
	bool spread;		    /* peers need the file together alone */
	bool fetched;		    /* the file comes from the peers, and is spread */
	uint64_t union_bytes;	    /* that the peers have together; or that are here */
	unsigned lines;		    /* that stand on the terminal */
	int64_t shown_ns, ended_ns; /* 0: with the last of its rows */
};

/* Rows of these peers, whose names are borrowed.  False: no memory. */
bool table_init(struct table *table, char *const *peers, unsigned count);
void table_fini(struct table *table);
/* The state of a peer is known from now on; `why` (or NULL) is copied, `fix` (or NULL) borrowed. */
void table_set(struct table_row *row, enum table_state state, const char *why, const char *fix,
	       int64_t took_ns);
/* The state of a peer whose session has ended so. */
enum table_state table_state_of_end(enum nopal_end end);
/* Shows the table, a few times a second at most. */
void table_show(struct table *table, int64_t now_ns);
bool table_is_whole(const struct table_row *row);
/* Is the mode's rule kept? */
bool table_is_kept(const struct table *table);
/* The file has ended; `error` of the file is the fault of this side, or NULL. */
void table_end(struct table *table);

#endif
