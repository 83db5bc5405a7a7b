/* SPDX-License-Identifier: MIT */
/*
 * filter.h -- which system calls a process may make, by the kernel's seccomp.
 *
 * Allowed is what a shared object needs to be loaded, to compute, to read and write descriptors
 * that are open already, and what a sanitizer needs to report.  All others end the process by
 * SIGSYS, and the call's number is noted before.
 */
#ifndef NOPAL_LAB_FILTER_H
#define NOPAL_LAB_FILTER_H

#include <stddef.h>
#include <stdint.h>

/* From now on, for this process; there is no way back.  The number of a forbidden call is written
 * to `ret_call` (memory shared with whoever wants to know; NULL: nobody), which is FILTER_NO_CALL
 * until then.  A hostile process may write there, too: the number is for people.
 * Negative: this machine has no such filter, and `why` says so with the fix. */
enum { FILTER_NO_CALL = -1 };
int filter_enter(volatile int32_t *ret_call, char *why, size_t room);
/* Words for a forbidden call: "execve (runs another program)"; may be in a static buffer. */
const char *filter_call_words(int32_t call);

#endif
