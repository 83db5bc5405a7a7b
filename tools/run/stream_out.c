/* SPDX-License-Identifier: MIT */
/*
 * stream_out.c -- where the messages of `nopal stream` go to.
 *
 * A message that cannot be written yet is kept where it arrived: for flow control it is unread, so
 * a slow reader slows the peer down.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "run/stream_out.h"
#include "run/stream_where.h"

enum {
	STREAM_PIECES = 256,	 /* written at once */
	STREAM_QUEUE_MAX = 4096, /* messages that wait where some may be dropped */
};

struct stream_queued {
	struct stream_queued *next;
	struct nopal_message *message;
};

struct stream_out {
	int fd, flags; /* flags: as we found them */
	enum stream_kind kind;
	bool broken;
	struct loop_event *event;
	struct nopal_session *session; /* of what is queued */
	struct stream_queued *first, **end;
	size_t queued;
	uint64_t written; /* bytes of the first one */
	uint64_t dropped;
};

/* Pieces from byte `from` on; returns how many. */
static size_t stream_out_pieces(const struct nopal_message *message, uint64_t from,
				struct iovec *pieces)
{
	size_t count = 0, total = nopal_message_pieces(message);

	for (size_t i = 0; i < total && count < STREAM_PIECES; i++) {
		uint32_t length;
		const uint8_t *piece = nopal_message_piece(message, i, &length);

		if (from >= length) {
			from -= length;
			continue;
		}
		pieces[count].iov_base = (void *)(uintptr_t)(piece + from);
		pieces[count++].iov_len = (size_t)(length - from);
		from = 0;
	}
	return count;
}

static void stream_out_give_up(struct stream_out *out)
{
	fprintf(stderr, "error: output: %s\n", strerror(errno));
	out->broken = true;
}

/* Writes on at out->written; true: all of it is out (or will never be). */
static bool stream_out_write(struct stream_out *out, const struct nopal_message *message)
{
	struct iovec pieces[STREAM_PIECES];

	if (nopal_message_length(message) == 0) {
		/* One datagram a message, also of a message without bytes. */
		if (out->kind == STREAM_UDP && send(out->fd, "", 0, 0) < 0)
			out->dropped++;
		return true;
	}
	while (!out->broken && out->written < nopal_message_length(message)) {
		size_t count = stream_out_pieces(message, out->written, pieces);
		ssize_t wrote = writev(out->fd, pieces, (int)count);

		if (wrote >= 0) {
			out->written += (uint64_t)wrote;
		} else if (out->kind == STREAM_UDP) {
			/* nobody listens, or no room: a soft error */
			out->dropped++;
			break;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			return false;
		} else if (errno != EINTR) {
			stream_out_give_up(out);
		}
	}
	out->written = 0;
	return true;
}

static void stream_out_pop(struct stream_out *out)
{
	struct stream_queued *first = out->first;

	out->first = first->next;
	if (!out->first)
		out->end = &out->first;
	out->queued--;
	nopal_message_give_back(out->session, first->message);
	free(first);
}

static void stream_out_on_writable(void *user)
{
	struct stream_out *out = user;

	while (out->first && stream_out_write(out, out->first->message))
		stream_out_pop(out);
	if (!out->first)
		loop_event_stop(out->event);
}

bool stream_out_put(struct stream_out *out, struct nopal_session *session,
		    struct nopal_message *message, bool may_drop)
{
	struct stream_queued *queued;

	if (!out->first && stream_out_write(out, message))
		return !out->broken;
	if (may_drop && out->queued >= STREAM_QUEUE_MAX) {
		out->dropped++;
		return true;
	}
	queued = calloc(1, sizeof(*queued));
	if (!queued)
		return false;
	nopal_message_keep(message);
	queued->message = message;
	*out->end = queued;
	out->end = &queued->next;
	out->queued++;
	out->session = session;
	loop_event_start(out->event, 0);
	return !out->broken;
}

/* The loop does not run here: a signal ends the wait for a stuck reader. */
bool stream_out_drain(struct stream_out *out, struct nopal_session *session)
{
	struct pollfd writable = { .fd = out->fd, .events = POLLOUT };

	if (out->first && out->session != session)
		return !out->broken;
	while (out->first) {
		if (stream_out_write(out, out->first->message))
			stream_out_pop(out);
		else if (poll(&writable, 1, -1) < 0)
			stream_out_give_up(out);
	}
	loop_event_stop(out->event);
	return !out->broken;
}

bool stream_out_is_pipe(const struct stream_out *out)
{
	return out->kind == STREAM_PIPE;
}

uint64_t stream_out_dropped(const struct stream_out *out)
{
	return out->dropped;
}

struct stream_out *stream_out_new(struct loop *loop, const char *where)
{
	struct stream_out *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->end = &out->first;
	out->fd = stream_where_open(where, true, &out->kind);
	if (out->fd < 0) {
		free(out);
		return NULL;
	}
	out->flags = fcntl(out->fd, F_GETFL);
	fcntl(out->fd, F_SETFL, out->flags | O_NONBLOCK);
	out->event = loop_event_new(loop, LOOP_WRITABLE, out->fd, stream_out_on_writable, out);
	if (out->event)
		return out;
	stream_out_free(out);
	return NULL;
}

void stream_out_free(struct stream_out *out)
{
	if (!out)
		return;
	loop_event_free(out->event);
	fcntl(out->fd, F_SETFL, out->flags); /* it may be a terminal's */
	close(out->fd);
	free(out);
}
