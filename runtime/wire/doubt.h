/* SPDX-License-Identifier: MIT */
/*
 * doubt.h -- does a silent peer still exist, and know the session?  doubt.c.
 */
#ifndef NOPAL_DOUBT_H
#define NOPAL_DOUBT_H

#include "session/endpoint_sessions.h"

void nopal__doubt_look(struct nopal_composite *bottom);
/* An ask arrived: its answer, but for the type; full: it gets none. */
void nopal__ask_receive(struct nopal_request *request, struct nopal_writer *reply);
/* An endpoint answered an ask; the reader is behind the type of the reply. */
void nopal__doubt_answered(struct nopal_composite *bottom, struct nopal_reader *reader);
/* The reason of an end in words, with the error of our own socket where that is to blame.  The
 * caller frees it; NULL: out of memory. */
char *nopal__doubt_text(const struct nopal_composite *bottom, enum nopal_end end, const char *text);

#endif
