/* SPDX-License-Identifier: MIT */
/*
 * watch.h -- wait for the answer of a hostile child, and end it where it uses up too much.
 *
 * The limits are processor time, memory and output, as the kernel counts them for the child, never
 * time on a clock: a busy machine only makes the grader wait longer.  A child that sleeps while an
 * answer is owed will sleep for ever, as it lives in walls (lab/sandbox.h) that know no timer.
 */
#ifndef NOPAL_LAB_WATCH_H
#define NOPAL_LAB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum watch_end {
	WATCH_READABLE, /* an answer has come, or a part of it: the child lives */
	/* the others end the child by SIGKILL */
	WATCH_DIED,	 /* it had ended already */
	WATCH_PROCESSOR, /* too much processor time */
	WATCH_MEMORY,	 /* too much memory */
	WATCH_STUCK,	 /* it sleeps, or is stopped */
	WATCH_OUTPUT,	 /* too much on stdout and stderr */
};

enum { WATCH_SAID_BYTES = 64 << 10, WATCH_MAX_OUTPUT_BYTES = 1 << 20 };

struct watch {
	pid_t child;
	int answers;	      /* descriptor of the child's answers; -1 once it has closed it */
	int output;	      /* pipe of its stdout and stderr; -1: none, or it has closed it */
	int64_t processor_ns; /* most since the child began, all waits together */
	int64_t memory_bytes; /* most resident, with the tables of its pages */
	/* The first part of the output, for people: not ended by a zero. */
	char said[WATCH_SAID_BYTES];
	size_t said_bytes;
	/* private */
	int handle; /* of the process: its number may be another's once the child is reaped */
	int64_t output_bytes, slept_ns, look_ns;
	int naps;
};

/* Begins to watch a child (of whomever) that has not been reaped, with the first five members set.
 * Negative errno: it cannot be watched. */
int watch_begin(struct watch *watch);
/* Waits until an answer is there.  To be called when the child owes one. */
enum watch_end watch_wait(struct watch *watch);
/* Waits until the child has taken so much of what was said to it that `answers` can be written
 * again (WATCH_READABLE).  To be called when the child has something to read. */
enum watch_end watch_wait_to_write(struct watch *watch);
/* Ends the child by SIGKILL if it lives, waits for its end, and takes what is left in the pipe.
 * The caller's descriptors stay open; the zombie is its parent's. */
void watch_close(struct watch *watch);
/* Processor time that the child has used, in ns; -1: it is gone. */
int64_t watch_processor_ns(const struct watch *watch);

/* The reason in words, as "used more than 500 ms of processor time".  `status` is that of
 * waitpid(), `call` the number of a forbidden call (lab/filter.h).  What a sanitizer found is
 * taken from the output. */
void watch_say(const struct watch *watch, enum watch_end end, int status, int32_t call, char *text,
	       size_t room);

#endif
