/* SPDX-License-Identifier: MIT */
/*
 * stream_in.c -- where the messages of `nopal stream` come from.
 *
 * A pipe or a socket is read when it is readable and the session takes more; a file is read at its
 * rate, a message a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "peer/pace.h"
#include "run/stream_in.h"
#include "run/stream_where.h"

enum {
	STREAM_LONGEST_DATAGRAM = 65536,
	STREAM_TURN_MESSAGES = 64, /* then others have their turn */
};

struct stream_in {
	struct loop *loop;
	struct stream_in_calls calls;
	int fd, flags; /* flags: as we found them */
	bool is_file, is_udp, over;
	struct loop_event *event; /* readable, or a file's next time */
	struct pace pace;	  /* of a file */
	uint64_t read_bytes;
	size_t size, length; /* length: of a message that waits in `bytes` */
	bool waiting;
	uint8_t bytes[];
};

/* Fills `bytes`; false: nothing now, or never again. */
static bool stream_in_read(struct stream_in *in)
{
	ssize_t got;

	do
		got = read(in->fd, in->bytes, in->size);
	while (got < 0 && errno == EINTR);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (got <= 0 && !in->is_udp) {
		/* a datagram may be empty */
		if (got < 0)
			fprintf(stderr, "error: input: %s\n", strerror(errno));
		if (!in->over) {
			in->over = true;
			loop_event_stop(in->event);
			in->calls.ended(in->calls.user);
		}
		return false;
	}
	if (got < 0)
		return false;
	in->length = (size_t)got;
	in->waiting = true;
	in->read_bytes += in->length;
	return true;
}

static void stream_in_on_event(void *user)
{
	struct stream_in *in = user;

	for (unsigned i = 0; i < STREAM_TURN_MESSAGES && !in->over; i++) {
		int64_t now_ns = nopal_world_now(loop_world(in->loop)), wait_ns = 0;

		/* A file's next message is due at its rate. */
		if (in->is_file && in->pace.from_ns == 0)
			pace_begin(&in->pace, now_ns, 0);
		if (in->is_file && !in->waiting)
			wait_ns = pace_wait_ns(&in->pace, now_ns, in->read_bytes);
		if (wait_ns > 0) {
			loop_event_start(in->event, wait_ns);
			return;
		}
		if (!in->waiting && !stream_in_read(in))
			return;
		if (!in->calls.got(in->calls.user, in->bytes, in->length)) {
			loop_event_stop(in->event); /* until resumed */
			return;
		}
		in->waiting = false;
	}
	if (in->is_file && !in->over)
		loop_event_start(in->event, 0);
}

void stream_in_resume(struct stream_in *in)
{
	if (!in->over)
		loop_event_start(in->event, 0);
	if (!in->over && in->waiting)
		stream_in_on_event(in);
}

struct stream_in *stream_in_new(struct loop *loop, const char *where, size_t size, int64_t rate_bps,
				const struct stream_in_calls *calls)
{
	struct stream_in *in;
	enum stream_kind kind;
	struct stat status;
	int fd = stream_where_open(where, false, &kind);

	if (fd < 0)
		return NULL;
	if (kind == STREAM_UDP)
		size = STREAM_LONGEST_DATAGRAM;
	in = calloc(1, sizeof(*in) + size);
	if (!in) {
		close(fd);
		return NULL;
	}
	in->loop = loop;
	in->calls = *calls;
	in->fd = fd;
	in->size = size;
	in->pace.rate_bps = rate_bps;
	in->is_udp = kind == STREAM_UDP;
	/* what cannot be waited for is always ready: files, /dev/zero */
	in->is_file = fstat(fd, &status) == 0 && !S_ISFIFO(status.st_mode) &&
		      !S_ISSOCK(status.st_mode) && !isatty(fd);
	in->flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, in->flags | O_NONBLOCK);
	in->event = loop_event_new(loop, in->is_file ? LOOP_TIMER : LOOP_READABLE,
				   in->is_file ? -1 : fd, stream_in_on_event, in);
	if (in->event)
		return in;
	stream_in_free(in);
	return NULL;
}

void stream_in_free(struct stream_in *in)
{
	if (!in)
		return;
	loop_event_free(in->event);
	fcntl(in->fd, F_SETFL, in->flags); /* it may be a terminal's */
	close(in->fd);
	free(in);
}
