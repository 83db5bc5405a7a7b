/* SPDX-License-Identifier: MIT */
/*
 * fetch_words.h -- the words of `nopal fetch`.  Where one is wrong, it was said why.
 */
#ifndef NOPAL_FETCH_WORDS_H
#define NOPAL_FETCH_WORDS_H

#include "fetch_talk.h"
#include "part.h"
#include "tool.h"

/* Where the file goes: a folder, which is open then, and a name in it, of
 * TRANSFER_TEXT_ROOM. */
bool fetch_words_output(const char *path, struct part_folder *ret_folder,
			char *ret_name);
/* What follows the last slash. */
const char *fetch_words_last(const char *path);
bool fetch_words_name(const char *name);
bool fetch_words_count(const struct tool_call *call);
struct nopal_plan *fetch_words_plan(const struct tool_call *call);
/* The file that is wanted, as the end of an earlier run or `nopal serve` says it. */
bool fetch_words_hash(const struct tool_call *call, struct fetch *fetch);

#endif
