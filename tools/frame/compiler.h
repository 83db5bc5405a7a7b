/* SPDX-License-Identifier: MIT */
/*
 * compiler.h -- the C compiler of this machine, and Nopal's sources for it.
 */
#ifndef NOPAL_TOOL_COMPILER_H
#define NOPAL_TOOL_COMPILER_H

#include <stdbool.h>

/* The compiler that was named, or $CC, or cc. */
const char *compiler_name(const char *named);
/* The folder with `runtime` and `microprotocols` in it: $NOPAL_SOURCES, or the installed one; a
 * program that is not installed has that which it was built from. */
const char *compiler_sources(void);
/* Runs a command (NULL-ended words, the first is looked for in $PATH) in a child and waits for it.
 * In the child `prepare` is called first, if it is not NULL: false ends it with TOOL_ENVIRONMENT.
 * So does a command that is not there, with a message.  Returns the status of waitpid(), or a
 * negative errno. */
int compiler_run(const char *const *words, bool (*prepare)(void *context), void *context);

#endif
