/* SPDX-License-Identifier: MIT */
/*
 * stream.h -- the ends and the report of `nopal stream`.
 *
 * An end is standard input or output ("pipe:"), a file ("file:PATH"), read at a rate and written as
 * fast as messages come, or a plain UDP socket, a datagram a message ("udp://ADDR:PORT").
 */
#ifndef NOPAL_STREAM_H
#define NOPAL_STREAM_H

#include "frame/loop.h"
#include "judge/judge.h"

struct stream_in;
struct stream_out;

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

/* How a stream fares, an interval a line. */
struct stream_report {
	const char *plan;
	char peer[NOPAL_ADDRESS_TEXT]; /* of its session */
	bool jsonl, begun;
	bool to_stderr; /* standard output carries messages */
	/* Of the input, dropped: longer than a message may be, or empty where the composition puts
	 * nothing around it. */
	uint64_t too_long, empty;
	uint64_t overflowed;		   /* messages that the output had no room for */
	const struct judgement *judgement; /* of the whole; NULL: none */
	int64_t begun_ns, last_ns;
	struct nopal_counters last; /* at the last line */
};

void stream_report_begin(struct stream_report *report, const struct nopal_session *session,
			 int64_t now_ns);
void stream_report_line(struct stream_report *report, const struct nopal_session *session,
			int64_t now_ns);
/* The whole of it. */
void stream_report_end(struct stream_report *report, const struct nopal_session *session,
		       int64_t now_ns);

#endif
