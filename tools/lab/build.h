/* SPDX-License-Identifier: MIT */
/*
 * build.h -- compile a submission, inside walls that let the compiler see nothing secret.
 *
 * A source is hostile before it runs: it can include or embed any file that the compiler can
 * read.  This one can read the system's headers and libraries, Nopal's public headers, and the
 * files *.c and *.h that lie in the submission's folder; it writes into one folder, for a bounded
 * time and with bounded memory.
 */
#ifndef NOPAL_LAB_BUILD_H
#define NOPAL_LAB_BUILD_H

#include <stddef.h>

#include "frame/tool.h"

enum build_kind {
	BUILD_CHECKED, /* with the sanitizers of addresses and of undefined behaviour */
	BUILD_QUICK,
};

enum { BUILD_SAID_BYTES = 16 << 10, BUILD_PRELOAD_BYTES = 8192 };

struct build {
	enum build_kind kind;
	const char *folder; /* of the submission */
	const char *part;   /* PART.c is compiled */
	const char *into;   /* existing folder that gets PART.so, readable for all */
};

/* Compiles.  `said` gets all that the compiler says, warnings too, with paths relative to the
 * submission's folder.  TOOL_FAILED: the source does not compile.  TOOL_ENVIRONMENT: there is no
 * compiler, or there are no walls; `said` has the reason and the fix. */
enum tool_exit build_part(const struct build *build, char said[BUILD_SAID_BYTES]);
/* The value of LD_PRELOAD for a program that loads a BUILD_CHECKED object: the sanitizers'
 * runtime, divided by ':'.  False: the compiler has none, and `said` has the fix. */
bool build_preload(char preload[BUILD_PRELOAD_BYTES], char said[BUILD_SAID_BYTES]);

#endif
