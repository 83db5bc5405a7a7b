/* SPDX-License-Identifier: MIT */
/*
 * stream_ends.c -- where the messages of `nopal stream` come from, and where they go to.
 *
 * A pipe or a socket is read when it is readable and the session takes more; a file is read at its
 * rate, a message a time.  A message that cannot be written yet is kept where it arrived: for flow
 * control it is unread, so a slow reader slows the peer down.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "frame/tool.h"
#include "peer/pace.h"
#include "run/stream.h"

enum {
	STREAM_FILE_MODE = 0666,
	STREAM_UDP_BUFFER = 4 << 20,
	STREAM_LONGEST_DATAGRAM = 65536,
	STREAM_TURN_MESSAGES = 64, /* then others have their turn */
	STREAM_PIECES = 256,	   /* written at once */
	STREAM_QUEUE_MAX = 4096,   /* messages that wait where some may be dropped */
};
#define STREAM_FILE_PREFIX "file:"
#define STREAM_UDP_PREFIX  "udp://"

/* -------------------------------------------------------------------- opening */

struct stream_end {
	int fd, flags; /* flags: as they were found */
	enum { STREAM_PIPE, STREAM_FILE, STREAM_UDP } kind;
	struct loop_event *event; /* readable, writable, or a file's next time */
};

union stream_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A bound socket, or a connected one. */
static int stream_udp_open(const char *address, bool connected)
{
	struct nopal_address parsed;
	union stream_name name = { 0 };
	socklen_t length;
	int fd, bytes = STREAM_UDP_BUFFER;

	if (!(connected ? tool_destination : tool_address)(address, &parsed))
		return -1;
	if (nopal_address_is_v4(&parsed)) {
		name.v4.sin_family = AF_INET;
		memcpy(&name.v4.sin_addr, parsed.ip + NOPAL_V4_AT, sizeof(name.v4.sin_addr));
		length = sizeof(name.v4);
	} else {
		name.v6.sin6_family = AF_INET6;
		memcpy(&name.v6.sin6_addr, parsed.ip, sizeof(parsed.ip));
		length = sizeof(name.v6);
	}
	name.v4.sin_port = htons(parsed.port); /* where v6 has it, too */
	fd = socket(name.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 &&
	    (connected ? connect(fd, &name.any, length) : bind(fd, &name.any, length)) == 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
		return fd;
	}
	tool_error("udp://%s: %s\n  fix: %s", address, strerror(errno),
		   connected ? "give an address that this machine can reach"
			     : "give an address of this machine and a free port");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A socket of an input is bound, of an output connected.  False: a problem was printed. */
static bool stream_end_open(struct stream_end *end, const char *where, bool output)
{
	struct stat status;

	if (strcmp(where, "pipe:") == 0) {
		end->kind = STREAM_PIPE;
		end->fd = dup(output ? STDOUT_FILENO : STDIN_FILENO);
	} else if (strncmp(where, STREAM_FILE_PREFIX, strlen(STREAM_FILE_PREFIX)) == 0) {
		const char *path = where + strlen(STREAM_FILE_PREFIX);

		end->kind = STREAM_FILE;
		end->fd = open(path, (output ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY) | O_CLOEXEC,
			       STREAM_FILE_MODE);
		/* A folder opens, and only reading it fails. */
		if (end->fd >= 0 && !fstat(end->fd, &status) && S_ISDIR(status.st_mode)) {
			close(end->fd);
			errno = EISDIR;
			end->fd = -1;
		}
		if (end->fd < 0)
			tool_error("%s: %s\n  fix: give a file that may be %s", path,
				   strerror(errno), output ? "written" : "read");
	} else if (strncmp(where, STREAM_UDP_PREFIX, strlen(STREAM_UDP_PREFIX)) == 0) {
		end->kind = STREAM_UDP;
		end->fd = stream_udp_open(where + strlen(STREAM_UDP_PREFIX), output);
	} else {
		end->fd = -1;
		tool_error("%s %s: it is of no known kind\n"
			   "  fix: pipe:, file:PATH or udp://ADDR:PORT",
			   output ? "output" : "input", where);
	}
	if (end->fd < 0)
		return false;
	end->flags = fcntl(end->fd, F_GETFL);
	fcntl(end->fd, F_SETFL, end->flags | O_NONBLOCK);
	return true;
}

static void stream_end_close(struct stream_end *end)
{
	loop_event_free(end->event);
	fcntl(end->fd, F_SETFL, end->flags); /* it may be a terminal's */
	close(end->fd);
}

/* ---------------------------------------------------------------------- input */

struct stream_in {
	struct loop *loop;
	struct stream_in_calls calls;
	struct stream_end end;
	bool is_file, over;
	struct pace pace; /* of a file */
	uint64_t read_bytes;
	size_t size, length; /* length: of a message that waits in `bytes` */
	bool waiting;
	uint8_t bytes[];
};

static void stream_in_on_event(void *user)
{
	struct stream_in *in = user;

	for (unsigned i = 0; i < STREAM_TURN_MESSAGES && !in->over; i++) {
		int64_t now_ns = nopal_world_now(loop_world(in->loop)), wait_ns = 0;
		ssize_t got;

		/* A file's next message is due at its rate. */
		if (in->is_file && in->pace.from_ns == 0)
			pace_begin(&in->pace, now_ns, 0);
		if (in->is_file && !in->waiting)
			wait_ns = pace_wait_ns(&in->pace, now_ns, in->read_bytes);
		if (wait_ns > 0) {
			loop_event_start(in->end.event, wait_ns);
			return;
		}
		if (!in->waiting) {
			do
				got = read(in->end.fd, in->bytes, in->size);
			while (got < 0 && errno == EINTR);
			if (got < 0 &&
			    (errno == EAGAIN || errno == EWOULDBLOCK || in->end.kind == STREAM_UDP))
				return;
			if (got < 0)
				tool_error("input: %s", strerror(errno));
			/* a datagram may be empty */
			if (got < 0 || (got == 0 && in->end.kind != STREAM_UDP)) {
				in->over = true;
				loop_event_stop(in->end.event);
				in->calls.ended(in->calls.user);
				return;
			}
			in->length = (size_t)got;
			in->waiting = true;
			in->read_bytes += in->length;
		}
		if (!in->calls.got(in->calls.user, in->bytes, in->length)) {
			loop_event_stop(in->end.event); /* until resumed */
			return;
		}
		in->waiting = false;
	}
	if (in->is_file && !in->over)
		loop_event_start(in->end.event, 0);
}

void stream_in_resume(struct stream_in *in)
{
	if (!in->over)
		loop_event_start(in->end.event, 0);
	if (!in->over && in->waiting)
		stream_in_on_event(in);
}

struct stream_in *stream_in_new(struct loop *loop, const char *where, size_t size, int64_t rate_bps,
				const struct stream_in_calls *calls)
{
	struct stream_end end = { 0 };
	struct stream_in *in;
	struct stat status;

	if (!stream_end_open(&end, where, false))
		return NULL;
	if (end.kind == STREAM_UDP)
		size = STREAM_LONGEST_DATAGRAM;
	in = calloc(1, sizeof(*in) + size);
	if (!in) {
		stream_end_close(&end);
		return NULL;
	}
	in->loop = loop;
	in->calls = *calls;
	in->end = end;
	in->size = size;
	in->pace.rate_bps = rate_bps;
	/* what cannot be waited for is always ready: files, /dev/zero */
	in->is_file = fstat(end.fd, &status) == 0 && !S_ISFIFO(status.st_mode) &&
		      !S_ISSOCK(status.st_mode) && !isatty(end.fd);
	in->end.event = loop_event_new(loop, in->is_file ? LOOP_TIMER : LOOP_READABLE,
				       in->is_file ? -1 : end.fd, stream_in_on_event, in);
	if (in->end.event)
		return in;
	stream_in_free(in);
	return NULL;
}

void stream_in_free(struct stream_in *in)
{
	if (in)
		stream_end_close(&in->end);
	free(in);
}

/* --------------------------------------------------------------------- output */

struct stream_queued {
	struct stream_queued *next;
	struct nopal_message *message;
};

struct stream_out {
	struct stream_end end;
	bool broken;
	struct nopal_session *session; /* of what is queued */
	struct stream_queued *first, **last;
	size_t queued;
	uint64_t written; /* bytes of the first one */
	uint64_t dropped;
};

static void stream_out_give_up(struct stream_out *out)
{
	tool_error("output: %s", strerror(errno));
	out->broken = true;
}

/* Writes on at out->written; true: all of it is out (or will never be). */
static bool stream_out_write(struct stream_out *out, const struct nopal_message *message)
{
	struct iovec pieces[STREAM_PIECES];

	if (nopal_message_length(message) == 0) {
		/* One datagram a message, also of a message without bytes. */
		if (out->end.kind == STREAM_UDP && send(out->end.fd, "", 0, 0) < 0)
			out->dropped++;
		return true;
	}
	while (!out->broken && out->written < nopal_message_length(message)) {
		uint64_t from = out->written;
		int count = 0;
		ssize_t wrote;

		for (size_t i = 0; i < nopal_message_pieces(message) && count < STREAM_PIECES;
		     i++) {
			uint32_t length;
			const uint8_t *piece = nopal_message_piece(message, i, &length);

			if (from < length)
				pieces[count++] = (struct iovec){
					(void *)(uintptr_t)(piece + from),
					length - from,
				};
			from -= from < length ? from : length;
		}
		wrote = writev(out->end.fd, pieces, count);
		if (wrote >= 0) {
			out->written += (uint64_t)wrote;
		} else if (out->end.kind == STREAM_UDP) {
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
		out->last = &out->first;
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
		loop_event_stop(out->end.event);
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
	*out->last = queued;
	out->last = &queued->next;
	out->queued++;
	out->session = session;
	loop_event_start(out->end.event, 0);
	return !out->broken;
}

/* The loop does not run here: a signal ends the wait for a stuck reader. */
bool stream_out_drain(struct stream_out *out, struct nopal_session *session)
{
	struct pollfd writable = { .fd = out->end.fd, .events = POLLOUT };

	if (out->first && out->session != session)
		return !out->broken;
	while (out->first) {
		if (stream_out_write(out, out->first->message))
			stream_out_pop(out);
		else if (poll(&writable, 1, -1) < 0)
			stream_out_give_up(out);
	}
	loop_event_stop(out->end.event);
	return !out->broken;
}

bool stream_out_is_pipe(const struct stream_out *out)
{
	return out->end.kind == STREAM_PIPE;
}

uint64_t stream_out_dropped(const struct stream_out *out)
{
	return out->dropped;
}

struct stream_out *stream_out_new(struct loop *loop, const char *where)
{
	struct stream_out *out = calloc(1, sizeof(*out));

	if (!out || !stream_end_open(&out->end, where, true)) {
		free(out);
		return NULL;
	}
	out->last = &out->first;
	out->end.event =
		loop_event_new(loop, LOOP_WRITABLE, out->end.fd, stream_out_on_writable, out);
	if (out->end.event)
		return out;
	stream_out_free(out);
	return NULL;
}

void stream_out_free(struct stream_out *out)
{
	if (out)
		stream_end_close(&out->end);
	free(out);
}
