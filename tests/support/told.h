/* SPDX-License-Identifier: MIT */
/*
 * told.h -- runs a subcommand of `nopal` within a test and keeps what it said.
 *
 *     struct told told;
 *     tell(&told, &tool_why, (const char *[]){ "x.trace", "17", NULL },
 *          (const char *[]){ "session", "2", NULL });
 *     assert_int_equal(told.code, TOOL_GOOD);
 *     assert_non_null(strstr(told.out, "freed"));
 */
#ifndef NOPAL_TEST_TOLD_H
#define NOPAL_TEST_TOLD_H

#include "frame/tool.h"
#include "support/test.h"

enum { TOLD_TEXT = 1 << 20 };

struct told {
	enum tool_exit code;
	char out[TOLD_TEXT], err[TOLD_TEXT];
};

/* `words` ends with NULL; `options` are name and value in turn, then NULL, or NULL where there are
 * none. */
void tell(struct told *told, const struct tool *tool, const char *const *words,
	  const char *const *options);

#endif
