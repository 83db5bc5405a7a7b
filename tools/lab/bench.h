/* SPDX-License-Identifier: MIT */
/*
 * bench.h -- where the files of labs lie, and a submission made ready for trials.
 */
#ifndef NOPAL_LAB_BENCH_H
#define NOPAL_LAB_BENCH_H

#include "lab/arena.h"

/* The folder with what a lab hands out: $NOPAL_LABS, what is installed, or the sources that the
 * program was built from.  The caller frees it. */
char *lab_handout(const struct lab *lab);
/* The reference's shared object, or that of a mutant of it (NULL: the reference).  The caller
 * frees it; NULL: the lab has no C. */
char *lab_object(const struct lab *lab, const char *mutant);

/* Two ways to build a submission: to find faults, and to run many trials. */
enum bench_build { BENCH_SANITIZED, BENCH_FAST, BENCH_BUILDS };

struct bench {
	const char *folder; /* of the submission; NULL: there is none, but the reference alone */
	/* A folder of our own, removed at the end, with folders for hosts: each has the configs of
	 * the hand-out (those of the submission, where it is configs), and PART.so. */
	char *work;
	char *builds[BENCH_BUILDS], *reference, *mutant, *configs;
	struct spawner spawners[BENCH_BUILDS];
	struct process_pool pool;
	struct lab_bench lab;
	char *errors; /* the compiler's, or NULL */
};

/* Compiles the submission in `folder` both ways, and starts the spawners.  `secret`: a file whose
 * bytes seed all that is hidden, or NULL.  `folder` may be NULL: see bench_use_mutant().  False: it does not compile (`errors`), or the machine
 * refused (a problem was printed, and `errors` is NULL). */
bool bench_open(struct bench *bench, const struct lab *lab, const char *folder, const char *secret);
/* Trials from now on run the submission as it was built so. */
void bench_use(struct bench *bench, enum bench_build build);
/* Trials from now on run a mutant of the reference in the submission's place; NULL: the reference
 * itself.  False: a problem was printed. */
bool bench_use_mutant(struct bench *bench, const char *mutant);
void bench_close(struct bench *bench);

#endif
