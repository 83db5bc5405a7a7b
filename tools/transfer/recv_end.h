/* SPDX-License-Identifier: MIT */
/*
 * recv_end.h -- the end of a session of `nopal recv`.
 */
#ifndef NOPAL_RECV_END_H
#define NOPAL_RECV_END_H

#include "transfer/recv_session.h"

/* Where the composition tells no end, what is done has ended well. */
enum nopal_end recv_end_of(const struct incoming *incoming, enum nopal_end end);
void recv_end_say(struct incoming *incoming, enum nopal_end end, const char *text);
/* The session was the one that met its sender: nobody else comes. */
void recv_end_rendezvous(const struct incoming *incoming, enum nopal_end end);

#endif
