/* SPDX-License-Identifier: MIT */
/* build.h -- a submission's source, compiled behind walls. */
#ifndef NOPAL_LAB_BUILD_H
#define NOPAL_LAB_BUILD_H

#include <stdbool.h>

enum build_kind {
	BUILD_SANITIZED, /* address and undefined behaviour sanitizers: a fault ends the process */
	BUILD_FAST,	 /* -O2 */
};

/* Compiles `source` into the shared object `object`.  False: `ret_errors` is what the compiler
 * says, which the caller frees, or NULL where the machine refused and a problem was printed. */
bool build_object(const char *source, const char *object, enum build_kind kind, char **ret_errors);
/* Libraries that a process loads before all else to run sanitized objects; the caller frees the
 * text; NULL: none is needed. */
char *build_preload(void);

#endif
