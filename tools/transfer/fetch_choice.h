/* SPDX-License-Identifier: MIT */
/*
 * fetch_choice.h -- the file that most servers announce, and the list of its hashes.
 */
#ifndef NOPAL_FETCH_CHOICE_H
#define NOPAL_FETCH_CHOICE_H

#include "transfer/fetch_talk.h"

/* A server that has offered it announces this file. */
void fetch_announced(struct fetch *fetch, struct destination *one, const struct transfer_note *end);
void fetch_listed(struct fetch *fetch, struct destination *one, const struct nopal_message *message,
		  const struct transfer_note *note);
/* A server answered, left, or is silent: chooses a file, where none is known yet. */
void fetch_choose(struct fetch *fetch);

#endif
