/* SPDX-License-Identifier: MIT */
/*
 * stream_in.h -- inputs of `nopal stream`: standard input ("pipe:"), a file at its rate
 * ("file:PATH"), or a UDP socket, a message a datagram ("udp://ADDR:PORT").
 */
#ifndef NOPAL_STREAM_IN_H
#define NOPAL_STREAM_IN_H

#include "frame/loop.h"

struct stream_in;

/* Functions that an input calls. */
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

#endif
