/* SPDX-License-Identifier: MIT */
/*
 * own.h -- the student's own cases, my_cases.txt: a right part passes all of them, and each mutant,
 * which is the reference with one mistake, fails at least one.
 */
#ifndef NOPAL_LAB_OWN_H
#define NOPAL_LAB_OWN_H

#include "lab/bench.h"

enum { OWN_CASES = 32, OWN_MESSAGES = 20000 /* of all cases */ };

/* The cases of one submission. */
struct own {
	bool is_open;
	bool is_missing; /* there is no such file */
	struct lab_scenarios cases;
	char *fault;		/* why they are no cases to run; NULL: they are */
	unsigned trials;	/* that were run */
	struct lab_bench bench; /* of the last one */
	/* The one that fails with the reference, and why; NULL: none does. */
	const struct lab_scenario *broken;
	char *reason;
};

extern const char own_file[]; /* my_cases.txt */

/* Reads my_cases.txt of the submission, and runs its cases with the reference. */
void own_open(struct own *own, struct bench *bench);
/* Does one of the cases fail with this mutant? */
bool own_catches(struct own *own, struct bench *bench, const char *mutant);
void own_close(struct own *own);

#endif
