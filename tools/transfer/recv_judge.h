/* SPDX-License-Identifier: MIT */
/*
 * recv_judge.h -- promises of a session of `nopal recv`.
 */
#ifndef NOPAL_RECV_JUDGE_H
#define NOPAL_RECV_JUDGE_H

#include "transfer/recv_session.h"

void recv_judge_begin(struct incoming *incoming);
void recv_judge_note(struct incoming *incoming, const struct nopal_message *message,
		     const struct transfer_note *note);
/* A file is over, and all of it is known to have come or not. */
void recv_judge_file(struct incoming *incoming);
/* Called from time to time.  Not NULL: the error with which the file is to end. */
const char *recv_judge_look(struct incoming *incoming);
/* True: a promise was broken. */
bool recv_judge_ended(struct incoming *incoming, const struct nopal_session *session,
		      enum nopal_end end, const char *text);

#endif
