/* SPDX-License-Identifier: MIT */
/*
 * send_table.h -- how a file fares that goes to many, or comes from them: a line for each while it
 * goes, and a table at its end.
 */
#ifndef NOPAL_SEND_TABLE_H
#define NOPAL_SEND_TABLE_H

#include "peer/progress.h"

enum table_state {
	TABLE_WAITING, /* nothing was sent to it yet */
	TABLE_TAKING,
	TABLE_COMPLETE, /* whole, its hash agrees, and it is on disk */
	TABLE_HERE,	/* the same, and it was there before */
	TABLE_SHARE,	/* it has, or gave, its part of a file that is spread */
	TABLE_REFUSED,
	TABLE_UNREACHED,
	TABLE_DIED,
	TABLE_FAILED,
};

struct table_row {
	const char *peer; /* as it was given */
	enum table_state state;
	char *why;	      /* or NULL */
	const char *fix;      /* or NULL */
	uint64_t bytes;	      /* that arrived there; or that it gave */
	uint64_t twice_bytes; /* that it gave when others had already */
	int64_t took_ns;      /* until its state was known */
};

struct table {
	struct progress progress;
	struct progress_file file;
	struct table_row *rows;
	unsigned count;
	unsigned needed; /* that many must have it whole */
	const char *mode;
	bool spread;		    /* or all of them together */
	bool fetched;		    /* it comes from them, and is spread */
	uint64_t union_bytes;	    /* that they have together; or that are here */
	unsigned lines;		    /* that stand on the terminal */
	int64_t shown_ns, ended_ns; /* 0: with the last of its rows */
};

/* Is it time to show it again? */
bool table_is_due(const struct table *table, int64_t now_ns);
void table_show(struct table *table, int64_t now_ns);
bool table_is_whole(const struct table_row *row);
/* Is the mode's rule kept? */
bool table_is_kept(const struct table *table);
/* The file has ended; `error` of the file says what was wrong here, or NULL. */
void table_end(struct table *table);

#endif
