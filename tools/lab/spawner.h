/* SPDX-License-Identifier: MIT */
/*
 * spawner.h -- a process that forks hosts.
 *
 * The program runs itself again, with the runtime of the sanitizers loaded before all else where
 * that is wanted, and with nothing of the grader in its memory.  A host is a fork of it that goes
 * behind its walls and then loads a submission; the spawner itself never does.
 */
#ifndef NOPAL_LAB_SPAWNER_H
#define NOPAL_LAB_SPAWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct spawner {
	pid_t pid;
	int fd; /* of the talk with it */
};

/* A host to fork.  Descriptors stay the caller's. */
struct spawner_order {
	const char *folder; /* that the host may read, beside all configs of the spawner's */
	bool sanitized;
	int talk_fd, output_fd, trace_fd; /* trace_fd -1: no trace */
};

/* `program`: that of `nopal`.  `configs`: the folder with those that a config may extend.
 * `preload`: libraries for LD_PRELOAD, or NULL.  Negative: errno value. */
int spawner_start(struct spawner *spawner, const char *program, const char *configs,
		  const char *preload);
void spawner_stop(struct spawner *spawner);
/* The host's process, or a negative errno value. */
pid_t spawner_fork(struct spawner *spawner, const struct spawner_order *order);
/* Waits for the end of a host and gives its status, as waitpid(), and the forbidden call that ended
 * it (lab/filter.h). */
int spawner_wait(struct spawner *spawner, pid_t pid, int32_t *ret_call);
/* The life of a spawner: `nopal lab spawn` with the talk at descriptor 3. */
int spawner_serve(void);

#endif
