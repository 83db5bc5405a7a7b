/* SPDX-License-Identifier: MIT */
/*
 * send_end.h -- the end of a session of `nopal send`, and of one that stands still.
 */
#ifndef NOPAL_SEND_END_H
#define NOPAL_SEND_END_H

#include "transfer/send.h"

/* Nothing has moved for long: says who holds what, and aborts the session. */
bool send_end_stuck(struct sender *sender);
/* The session has ended: judges, and says what was not good. */
void send_end(struct sender *sender, const struct nopal_session *session, enum nopal_end end,
	      const char *text);

#endif
