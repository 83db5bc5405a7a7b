/* SPDX-License-Identifier: MIT */
/*
 * reproduce.h -- the options that the experiments of `nopal reproduce` share.
 *
 * An experiment is one file, tools/reproduce/NAME.c, with one reproduce_run reproduce_NAME at its
 * end, and an entry in reproduce.c's table.  It adds one value a run to cells of the report, the
 * paper's figure to those that have one, and says in the end which claims hold; the frame prints.
 */
#ifndef NOPAL_REPRODUCE_H
#define NOPAL_REPRODUCE_H

#include <stdint.h>

#include "report/report.h"

enum {
	REPRODUCE_RUNS = 10, /* as in the paper */
	REPRODUCE_RUNS_QUICK = 2,
	REPRODUCE_RUNS_MAX = 1000,
};

/* The command line; an experiment takes what it has a use for. */
struct reproduce_options {
	int runs;		  /* of everything; of what is slow, fewer by default */
	bool runs_given;	  /* runs were asked for: then everywhere */
	uint64_t seed;		  /* of run 0; run i has seed + i */
	bool live, sim;		  /* in which worlds; at least one is true */
	bool quick;		  /* a shorter experiment: shapes, not figures */
	bool quiet;		  /* no word while it runs */
	const char *rows, *paths; /* "tcp,ctp_bulk": only these; NULL: all */
	int table;		  /* as in struct reproduction */
	struct report *report;
};

/* One of `enum tool_exit`.  Where the machine refuses rows, an experiment goes on with the others,
 * says report_refused() and returns TOOL_GOOD. */
typedef int reproduce_run(const struct reproduce_options *options);
reproduce_run reproduce_congestion, reproduce_ctp_fig5, reproduce_ctp_packing, reproduce_ctp_table1,
	reproduce_ctp_table2, reproduce_madp_checksums, reproduce_madp_figure,
	reproduce_madp_table1, reproduce_one_to_many, reproduce_one_to_many_balance,
	reproduce_udt_fig6, reproduce_udt_fig7, reproduce_udt_flows, reproduce_udtcp_analysis,
	reproduce_udtcp_changes, reproduce_udtcp_figure;

struct reproduction {
	const char *name;    /* "ctp-table1" */
	const char *summary; /* one line */
	const char *time;    /* how long it runs: "3 minutes; --sim 2 s" */
	reproduce_run *run;
	int table;	       /* the paper's number, where `run` has several tables or figures */
	const char *simulated; /* why there is nothing to run live; or NULL */
};

/* Is the word in the list "a,b,c"?  A NULL list has all words. */
bool reproduce_wanted(const char *list, const char *word);
/* A line on stderr, unless --quiet: what runs now. */
void reproduce_say(const struct reproduce_options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
