/* SPDX-License-Identifier: MIT */
/*
 * stream.h -- where the messages of `nopal stream` come from and go to.
 *
 *   pipe:             standard input, standard output
 *   file:PATH         a file: read at --rate, written as fast as it comes
 *   udp://ADDR:PORT   a datagram is a message
 */
#ifndef NOPAL_STREAM_H
#define NOPAL_STREAM_H

#include <nopal/nopal.h>
#include "frame/loop.h"

struct stream_in;
struct stream_out;

/* What an input calls. */
struct stream_in_calls {
	/* A message; false: no room now, it is offered again at resume. */
	bool (*got)(void *user, const uint8_t *bytes, size_t length);
	void (*ended)(void *user); /* no more will come */
	void *user;
};

/* `size`: longest message; `rate_bps` 0: as fast as it goes.  NULL: it was said why. */
struct stream_in *stream_in_new(struct loop *loop, const char *where, size_t size, int64_t rate_bps,
				const struct stream_in_calls *calls);
void stream_in_resume(struct stream_in *in); /* also starts it */
void stream_in_free(struct stream_in *in);   /* NULL is well */

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
