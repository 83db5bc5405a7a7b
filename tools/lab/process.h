/* SPDX-License-Identifier: MIT */
/*
 * process.h -- processes of hosts, each for some trials: one after the other, in fresh worlds.
 *
 * A trusted host, as of the reference, needs no walls: it lives in the grader's own process, where
 * a turn costs no switch to another one.
 *
 * A process is dear to begin: it is forked, walled in and loads the submission.  One whose trial
 * went well waits for the next one.  After a failure, and after PROCESS_TRIALS of them, it ends; a
 * trial that is traced has one for itself.
 */
#ifndef NOPAL_LAB_PROCESS_H
#define NOPAL_LAB_PROCESS_H

#include "lab/spawner.h"
#include "lab/watch.h"

enum { PROCESS_TRIALS = 32, PROCESS_IDLE = 16 };

struct process {
	struct host *local; /* it is of this process, and trusted; NULL: it is a child */
	struct spawner *spawner;
	char *folder;
	pid_t pid;
	int talk_fd, output_fd;
	unsigned trials;
	struct watch watch;
};

/* Those that wait, oldest first. */
struct process_pool {
	struct process *idle[PROCESS_IDLE];
	size_t count;
};

struct process_limits {
	int64_t processor_ns, memory_bytes; /* of a trial, and at any time */
};

/* One that waits, or a new one, in this very process where `spawner` is NULL; the order's descriptors of talk and output are filled in.  NULL: it
 * cannot be started. */
struct process *process_begin(struct process_pool *pool, struct spawner *spawner,
			      struct spawner_order order, const struct process_limits *limits);
/* Its trial went well: it waits for the next one, or ends. */
void process_keep(struct process_pool *pool, struct process *process);
/* Ends it if it lives, and returns its status, as waitpid(), and the forbidden call that ended it.
 * `watch` stays until process_free(). */
int process_end(struct process *process, int32_t *ret_call);
void process_free(struct process *process);
/* Ends those that wait. */
void process_pool_fini(struct process_pool *pool);

#endif
