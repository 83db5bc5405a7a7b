/* SPDX-License-Identifier: MIT */
/*
 * program.h -- what main.c shares with the tools' own frame: parsing, help, what is printed from
 * the option tables, and last words.
 */
#ifndef NOPAL_PROGRAM_H
#define NOPAL_PROGRAM_H

#include "tool.h"

/* From now on a crash says where it was, before the process dies of it. */
void crash_watch(void);

/* What parsing a command line came to. */
enum tool_parsed {
	TOOL_PARSED,
	TOOL_PARSED_HELP,  /* --help was asked for */
	TOOL_PARSED_BADLY, /* a word about it was printed */
};

/* `argv[0]` is the subcommand's name. */
enum tool_parsed tool_parse(const struct tool *tool, int argc, char **argv,
			    struct tool_call *ret_call);
void tool_help(const struct tool *tool, FILE *out);
/* The tool of that name in a NULL-ended table, or NULL. */
const struct tool *tool_find(const struct tool *const *table, const char *name);
/* The nearest name in the table, or NULL. */
const char *tool_nearest(const struct tool *const *table, const char *name);

/* The exit code: of what lacks memory it is not the user's fault, nor good. */
enum tool_exit tool_outcome(enum tool_exit result);

/* Completions for bash, zsh or fish; false: no such shell. */
bool tool_complete(const struct tool *const *table, const char *shell, FILE *out);
/* The manual page, for man(1). */
void tool_man(const struct tool *const *table, FILE *out);

#endif
