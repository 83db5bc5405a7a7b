/* SPDX-License-Identifier: MIT */
/*
 * send_words.h -- the words of `nopal send`: files and, last, one address.
 */
#ifndef NOPAL_SEND_WORDS_H
#define NOPAL_SEND_WORDS_H

#include "tool.h"

/* Both: false: it was said why not. */
bool send_words_peer(const struct tool_call *call,
		     struct nopal_address *ret_peer);
bool send_words_may_read(const struct tool_call *call);

#endif
