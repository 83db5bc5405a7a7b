/* SPDX-License-Identifier: MIT */
/*
 * lines.h -- a config as text with a microprotocol a line, changed a line at a time:
 *
 *     layer "top" {                    1   a layer begins
 *     multiplicity = per_stream        2
 *     resize { mtu = 600B }            3   a part
 *     }                                4   a layer ends
 *
 * Lines are counted from 1, as problems count them.  Texts that are returned are by malloc.
 */
#ifndef NOPAL_TEST_LINES_H
#define NOPAL_TEST_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum line_is { LINE_OTHER, LINE_PART, LINE_LAYER, LINE_LAYER_END };

int lines_count(const char *text);
/* Where it begins, and its length without the newline. */
const char *lines_at(const char *text, int line, size_t *ret_length);
enum line_is lines_kind(const char *text, int line);
/* The word that it begins with; into `name`. */
void lines_name(const char *text, int line, char *name, size_t room);
/* Without the lines from `first` to `last`. */
char *lines_without(const char *text, int first, int last);
/* Settings of a part: how many, and the text without all of them, or without one. */
int lines_settings(const char *text, int line);
char *lines_plain(const char *text, int line);
char *lines_without_setting(const char *text, int line, int setting);
/* With `more` as a line before `line`. */
char *lines_with(const char *text, int line, const char *more);

#endif
