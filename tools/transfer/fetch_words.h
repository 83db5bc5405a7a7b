/* SPDX-License-Identifier: MIT */
/*
 * fetch_words.h -- the words of `nopal fetch`.  Where one is wrong, it was said why.
 */
#ifndef NOPAL_FETCH_WORDS_H
#define NOPAL_FETCH_WORDS_H

#include "file/part.h"
#include "frame/tool.h"
#include "transfer/fetch_talk.h"

/* Where the file goes: a folder, which is open then, and a name in it, of TRANSFER_TEXT_ROOM. */
bool fetch_words_output(const char *path, struct part_folder *ret_folder, char *ret_name);
/* The text behind the last slash. */
const char *fetch_words_last(const char *path);
/* How many words are names: at the end stand addresses, one at least, which have a colon; the first
 * is a name whatever it has.  0: one of them is wrong, or does not go with several. */
int fetch_words_names(const struct tool_call *call);
bool fetch_words_count(const struct tool_call *call, int names);
struct nopal_plan *fetch_words_plan(const struct tool_call *call);
/* The file that is wanted, as the end of an earlier run or `nopal serve` says it. */
bool fetch_words_hash(const struct tool_call *call, struct fetch *fetch);

#endif
