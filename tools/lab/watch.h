/* SPDX-License-Identifier: MIT */
/* watch.h -- the grader's eye on a host's process: processor time, memory, output, a dead end. */
#ifndef NOPAL_LAB_WATCH_H
#define NOPAL_LAB_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum watch_end {
	WATCH_READABLE,	 /* the host says something */
	WATCH_DIED,	 /* its talk has ended */
	WATCH_PROCESSOR, /* processor time is used up */
	WATCH_MEMORY,
	WATCH_STUCK, /* it sleeps, and nobody is to wake it */
	WATCH_OUTPUT,
};

enum { WATCH_OUTPUT_KEPT = 64 << 10 };

struct watch {
	pid_t pid;
	int fd, output_fd;
	int64_t processor_ns; /* limits */
	uint64_t memory_bytes, output_bytes;
	char *output; /* the first WATCH_OUTPUT_KEPT bytes that it printed */
	size_t output_kept;
	uint64_t output_total;
};

/* Waits until `fd` is readable, or the host has come to its end: it is not killed here. */
enum watch_end watch_wait(struct watch *watch);
/* Reads what is still in the pipe. */
void watch_drain(struct watch *watch);

#endif
