/* SPDX-License-Identifier: MIT */
/*
 * fetch_words.h -- the words of `nopal fetch`.  Where one is wrong, the problem was printed.
 */
#ifndef NOPAL_FETCH_WORDS_H
#define NOPAL_FETCH_WORDS_H

#include "file/part.h"
#include "frame/tool.h"
#include "transfer/fetch_talk.h"

/* The destination of a served file, option "output" or its last name here: a folder, which is open
 * then, and a name in it, of TRANSFER_TEXT_ROOM bytes. */
bool fetch_words_output(const struct tool_call *call, const char *served,
			struct part_folder *ret_folder, char *ret_name);
/* The number of words that are names: at the end stand addresses, one at least, which have a colon;
 * the first word is a name whatever it has.  0: one of the words is wrong. */
int fetch_words_names(const struct tool_call *call);
/* The file with the hash that the user gives: as printed by an earlier run or `nopal serve`. */
bool fetch_words_hash(const struct tool_call *call, struct fetch *fetch);

#endif
