/* SPDX-License-Identifier: MIT */
/*
 * grade.h -- a submission held against the rubric of its lab.
 *
 * All items get their trials, visible ones with fixed seeds and hidden ones with seeds of the
 * bench's secret.  Most trials run the fast build; the first of each item run the one with
 * sanitizers.  An item fails with its first trial that fails, and that trial is run again, traced.
 */
#ifndef NOPAL_LAB_GRADE_H
#define NOPAL_LAB_GRADE_H

#include "lab/bench.h"

struct grade_result {
	const struct lab_item *item;
	bool passed;
	unsigned trials; /* that were run */
	/* Of the trial that failed; the trial is NULL where it was not run. */
	char *case_name, *reason;
	uint64_t seed;
	struct lab_trial *trial;
	char *holders; /* who held which segment at its end, a line each; "": nobody */
};

struct grade {
	const struct lab *lab;
	struct grade_result *results; /* by item */
	size_t count;
	int points, possible;
	unsigned trials;
	char *errors; /* of the compiler: then there are no results */
};

struct grade_options {
	const char *secret; /* a file, or NULL */
	bool hidden;	    /* hidden items, too */
	unsigned seeds;	    /* trials in all, shared by items as their seeds say; 0: those */
};

/* False: the machine refused, and a problem was printed. */
bool grade_submission(const struct lab *lab, const char *folder,
		      const struct grade_options *options, struct grade *ret_grade);
void grade_fini(struct grade *grade);

#endif
