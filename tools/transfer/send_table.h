/* SPDX-License-Identifier: MIT */
/*
 * send_table.h -- progress and results of a file that goes to several peers, or comes from them: a
 * line for each peer on the way, and a table at the end of the file.
 */
#ifndef NOPAL_SEND_TABLE_H
#define NOPAL_SEND_TABLE_H

#include "peer/progress.h"
#include "transfer/destination.h"

struct table {
	struct progress progress;
	struct progress_file file;
	struct destination *rows;
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
bool table_init(struct table *table, char *const *peers, const struct nopal_address *addresses,
		unsigned count);
void table_fini(struct table *table);
/* Shows the table, a few times a second at most. */
void table_show(struct table *table, int64_t now_ns);
/* Is the mode's rule kept? */
bool table_is_kept(const struct table *table);
/* The file has ended; `error` of the file is the fault of this side, or NULL. */
void table_end(struct table *table);

#endif
