/* SPDX-License-Identifier: MIT */
/*
 * reproduce.h -- what the experiments of `nopal reproduce` share: the options, and a report of
 * tables, with the paper's figures beside ours, and of claims.
 *
 * An experiment is one file, tools/reproduce/NAME.c, with one
 * `const struct reproduction reproduce_NAME` at its end, and a line in reproduce.c's table.  It
 * adds one value a run to cells, the paper's figure to those that have one, and says in the end
 * which claims hold; the frame prints.
 *
 *     struct reproduce_cell cell = { "local area", "CTP-Bulk", "latency", "ms" };
 *     reproduce_paper(report, &cell, 0.380, 0.0090);
 *     for (int run = 0; run < options->runs; run++)
 *             reproduce_add(report, &cell, 0.021);
 *     reproduce_claim(report, "bulk costs more than minimal",
 *                     reproduce_mean(report, &cell) > minimal
 *                             ? REPRODUCE_HOLDS : REPRODUCE_FAILS,
 *                     "%.3f ms against %.3f ms", ...);
 *
 * Tables, rows and columns come in the order of their first mention.
 */
#ifndef NOPAL_REPRODUCE_H
#define NOPAL_REPRODUCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reproduce_report;

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
	struct reproduce_report *report;
};

struct reproduction {
	const char *name;    /* "ctp-table1" */
	const char *summary; /* one line */
	const char *time;    /* how long it runs: "3 minutes; --sim 2 s" */
	/* One of `enum tool_exit`.  Where the machine refuses rows, it goes on with the others,
	 * says reproduce_refused() and returns TOOL_GOOD. */
	int (*run)(const struct reproduce_options *options);
};

/* ------------------------------------------------------------------- tables */

/* Where a value belongs; texts are copied.  `row` may be a number ("5"): then a table is a curve
 * over its rows.  The unit is the column's. */
struct reproduce_cell {
	const char *table, *row, *column, *unit;
};

/* Says that there is such a cell, for the order of tables, rows and columns. */
void reproduce_declare(struct reproduce_report *report, const struct reproduce_cell *cell);
/* One run's value. */
void reproduce_add(struct reproduce_report *report, const struct reproduce_cell *cell,
		   double value);
/* The paper's figure of the cell; `deviation` 0: it says none. */
void reproduce_paper(struct reproduce_report *report, const struct reproduce_cell *cell,
		     double mean, double deviation);
/* Of the runs; NAN where there is none.  The deviation is the sample's. */
double reproduce_mean(const struct reproduce_report *report, const struct reproduce_cell *cell);
double reproduce_deviation(const struct reproduce_report *report,
			   const struct reproduce_cell *cell);
/* Where a machine that did something else for a while would spoil a mean. */
double reproduce_median(const struct reproduce_report *report, const struct reproduce_cell *cell);
int reproduce_count(const struct reproduce_report *report, const struct reproduce_cell *cell);
/* A line below the tables: what a reader must know to believe them.  A line that was said before is
 * not said again. */
void reproduce_note(struct reproduce_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same: this machine refuses something, and rows are left out for it. */
void reproduce_refused(struct reproduce_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------- claims ledger */

enum reproduce_verdict {
	REPRODUCE_HOLDS,
	REPRODUCE_FAILS,
	REPRODUCE_UNTESTABLE, /* not by us: `why` says */
	REPRODUCE_UNMEASURED, /* not by this run, which left it out */
};

/* A line of the ledger: what the paper (or we) claim, and what this run says. */
void reproduce_claim(struct reproduce_report *report, const char *claim,
		     enum reproduce_verdict verdict, const char *why, ...)
	__attribute__((format(printf, 4, 5)));
/* The same from a comparison: a < b holds; unmeasured where either is NAN. `why` names what is
 * compared. */
void reproduce_claim_less(struct reproduce_report *report, const char *claim, double a, double b,
			  const char *why);

/* ------------------------------------------------------------------ helpers */

/* Is the word in the list "a,b,c"?  A NULL list has all words. */
bool reproduce_wanted(const char *list, const char *word);
/* A line on stderr, unless --quiet: what runs now. */
void reproduce_say(const struct reproduce_options *options, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
