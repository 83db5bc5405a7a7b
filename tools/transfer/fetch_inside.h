/* SPDX-License-Identifier: MIT */
/*
 * fetch_inside.h -- what fetch_talk.c and fetch_choice.c have of each other.
 */
#ifndef NOPAL_FETCH_INSIDE_H
#define NOPAL_FETCH_INSIDE_H

#include "transfer/fetch_talk.h"

/* of fetch_talk.c */
int64_t fetch_now(const struct fetch *fetch);
void fetch_say(struct fetch_one *one, struct transfer_note *note);
void fetch_leave_out(struct fetch *fetch, struct fetch_one *one, enum table_state state,
		     const char *why, const char *fix);
/* It has the file that is known. */
void fetch_join(struct fetch *fetch, struct fetch_one *one);

/* of fetch_choice.c */
/* One that has offered it announces this file. */
void fetch_announced(struct fetch *fetch, struct fetch_one *one, const struct transfer_note *end);
void fetch_listed(struct fetch *fetch, struct fetch_one *one, const struct nopal_message *message,
		  const struct transfer_note *note);
/* Somebody answered, left, or took his time: until it is known which file it is. */
void fetch_choose(struct fetch *fetch);

#endif
