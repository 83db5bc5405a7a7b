/* SPDX-License-Identifier: MIT */
/*
 * stream_out.h -- outputs of `nopal stream`: standard output ("pipe:"), a file as fast as messages
 * come ("file:PATH"), or a UDP socket, a datagram a message ("udp://ADDR:PORT").
 */
#ifndef NOPAL_STREAM_OUT_H
#define NOPAL_STREAM_OUT_H

#include <nopal/nopal.h>
#include "frame/loop.h"

struct stream_out;

struct stream_out *stream_out_new(struct loop *loop, const char *where);
/* Is it standard output? */
bool stream_out_is_pipe(const struct stream_out *out);
/* Writes a message, or keeps it until that is possible.  With `may_drop` it is dropped, and
 * counted, where too many wait.  False: the output is broken. */
bool stream_out_put(struct stream_out *out, struct nopal_session *session,
		    struct nopal_message *message, bool may_drop);
/* Writes what waits, until a signal comes, and gives it back.  False: the output is broken. */
bool stream_out_drain(struct stream_out *out, struct nopal_session *session);
uint64_t stream_out_dropped(const struct stream_out *out);
void stream_out_free(struct stream_out *out); /* NULL is well */

#endif
