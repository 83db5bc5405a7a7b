/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h -- walls around a process that runs a stranger's code.
 *
 * A child of the grader calls sandbox_enter() before it loads a submission: its constructors run
 * inside the walls.  Inside there are files to read, descriptors that are open, memory and
 * processor time; there is no file to write, no other process, no network and no clock to wait
 * for.  The walls stand for an ordinary user as for root.  What the child uses up is watched from
 * outside (lab/watch.h).
 */
#ifndef NOPAL_LAB_SANDBOX_H
#define NOPAL_LAB_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

enum { SANDBOX_WHY_BYTES = 512 };

struct sandbox {
	/* Files, and folders with all that lies below them: may be read.  NULL-ended.  The objects
	 * that the process has loaded already may be, too.  Nothing else, and nothing may be
	 * written. */
	const char *const *readable;
	const int *descriptors; /* those that stay open; all others are closed */
	size_t descriptor_count;
	/* Most address space.  0: no bound, as a sanitizer's shadow needs terabytes of it. */
	int64_t memory_bytes;
	/* Most bytes of a file, where a descriptor is that of a memory file; 0: none. */
	int64_t file_bytes;
	/* Most processor time, in whole seconds, in case that nobody watches; 0: no bound. */
	int64_t processor_seconds;
	/* Gets the number of the forbidden call that ended the process (lab/filter.h), in memory
	 * shared with the grader; NULL: nobody asks. */
	volatile int32_t *ret_call;
};

/* Raises the walls around the calling process, which has one thread.  Negative: they do not stand,
 * `why` says so with the fix, and the process must end. */
int sandbox_enter(const struct sandbox *sandbox, char *why, size_t room);

#endif
