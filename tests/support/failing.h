/* SPDX-License-Identifier: MIT */
/*
 * failing.h -- an allocator that fails where a test tells it to.
 *
 * The allocator stands between the library and the C library's by the linker's
 * --wrap (failing_wraps of tests/meson.build), so allocations of other libraries
 * neither count nor fail.
 */
#ifndef NOPAL_TEST_FAILING_H
#define NOPAL_TEST_FAILING_H

#include <stdbool.h>
#include <stdint.h>

/* The `nth` allocation from now on fails, 1 being the next one; `on`: and every one after it. */
void failing_from(uint64_t nth, bool on);
/* None fails from now on; how many did. */
uint64_t failing_stop(void);
/* Which it was, for people: "allocation 7 and all after it". */
const char *failing_text(void);

/* Calls `run` again and again, each time with another allocation that fails: every `stride`-th,
 * alone and then with all after it, until it needs no more than there are.  `run` calls
 * failing_stop() before it judges.  What it took it has to give back, or the test fails.  How many
 * points were tried. */
uint64_t failing_sweep(void (*run)(void *context), void *context, uint64_t stride);

#endif
