/* SPDX-License-Identifier: MIT */
/*
 * send_words.h -- the words of `nopal send`: files and, last, where they go.
 */
#ifndef NOPAL_SEND_WORDS_H
#define NOPAL_SEND_WORDS_H

#include "frame/tool.h"

/* How many words are files: at the end stand addresses, one at least, which have a colon and are no
 * files. */
int send_words_files(const struct tool_call *call);
/* All: false: it was said why not. */
bool send_words_peers(const struct tool_call *call, int files, struct nopal_address *ret_peers);
bool send_words_may_read(const struct tool_call *call, int files);
/* Does the plan speak to as many? */
bool send_words_fit(const struct tool_call *call, int files, const struct nopal_plan *plan);

#endif
