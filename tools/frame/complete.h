/* SPDX-License-Identifier: MIT */
/*
 * complete.h -- shell completions and the manual page, from the tables of tools and options.
 */
#ifndef NOPAL_COMPLETE_H
#define NOPAL_COMPLETE_H

#include "frame/tool.h"

/* Completions for bash, zsh or fish; false: no such shell. */
bool tool_complete(const struct tool *const *table, const char *shell, FILE *out);
/* The manual page, for man(1). */
void tool_man(const struct tool *const *table, FILE *out);

#endif
