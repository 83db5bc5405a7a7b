/* SPDX-License-Identifier: MIT */
/*
 * echo.c -- a file goes to a server in pieces and comes back, every byte checked.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <nopal/microprotocol.h>
#include "load/clock.h"
#include "load/echo.h"
#include "load/pattern.h"

/* How far a file is. */
struct echo_file {
	const struct echo *echo;
	uint64_t sent, back;
	bool wrong; /* a byte came that was not sent */
};

struct echo_client {
	struct side side;
	struct echo_file file;
	bool sending;
};

/* Answers that found no room wait, as the messages that they are. */
struct echo_server {
	struct side side;
	struct nopal_message *waiting[ECHO_AHEAD];
	uint32_t first, count;
};

/* The next bytes to send, at most one piece; 0: none for now. */
static uint32_t file_next(const struct echo_file *file, uint8_t *bytes)
{
	uint64_t left = file->echo->size - file->sent;
	uint32_t length = left < file->echo->piece ? (uint32_t)left : file->echo->piece;

	if (file->sent - file->back >= (uint64_t)ECHO_AHEAD * file->echo->piece)
		return 0;
	pattern_fill(bytes, length, file->sent);
	return length;
}

static void file_came(struct echo_file *file, const uint8_t *bytes, size_t length)
{
	file->wrong |= !pattern_is(bytes, length, file->back);
	file->back += length;
	file->wrong |= file->back > file->sent;
}

static bool file_over(const struct echo_file *file)
{
	return file->wrong || file->back >= file->echo->size;
}

/* ---------------------------------------------------------------------- TCP */

static void client_ask(void *user, int fd)
{
	struct echo_client *client = user;
	struct echo_file *file = &client->file;
	int patience_ms = (int)(client->side.patience_ns / NOPAL_MILLISECOND);
	struct pollfd ready = { .fd = fd };
	uint8_t bytes[ECHO_MAX_BYTES];
	bool gone = false;

	/* Sends and receives as much as can be now, and waits where nothing can. */
	while (!gone && !file_over(file)) {
		uint32_t length = file_next(file, bytes);
		ssize_t sent = 0, got;

		if (length > 0)
			sent = send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent > 0)
			file->sent += (uint64_t)sent;
		got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got > 0)
			file_came(file, bytes, (size_t)got);
		gone = got == 0 || (got < 0 && errno != EAGAIN);
		if (gone || sent > 0 || got > 0)
			continue;
		ready.events = file->sent < file->echo->size ? POLLIN | POLLOUT : POLLIN;
		gone = poll(&ready, 1, patience_ms) <= 0;
	}
	client->side.ended_ns = clock_now_ns();
}

static void server_answer(void *user, int fd)
{
	uint8_t bytes[ECHO_MAX_BYTES];
	ssize_t got;

	(void)user;
	while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		if (send(fd, bytes, (size_t)got, MSG_NOSIGNAL) != got)
			return; /* it blocks until all is taken */
}

/* ------------------------------------------------------------------ configs */

static void client_on(void *user, const struct side_event *event)
{
	struct echo_client *client = user;
	struct echo_file *file = &client->file;
	uint8_t bytes[ECHO_MAX_BYTES];
	uint32_t length;

	if (event->kind == SIDE_SENT)
		return;
	if (event->kind == SIDE_RECEIVED) {
		file_came(file, bytes, nopal_message_copy(event->message, 0, bytes, sizeof(bytes)));
		side_heard(&client->side);
	}
	if (event->kind == SIDE_ENDED || file_over(file))
		side_over(&client->side);
	/* Events may come from within nopal_send(): one at a time. */
	if (client->sending || client->side.over)
		return;
	client->sending = true;
	while ((length = file_next(file, bytes)) > 0 &&
	       nopal_send(event->session, bytes, length, 0) == 0)
		file->sent += length;
	client->sending = false;
}

static bool server_echo(struct nopal_session *session, const struct nopal_message *message)
{
	uint8_t bytes[ECHO_MAX_BYTES];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));

	return nopal_send(session, bytes, length, 0) == 0;
}

static void server_on(void *user, const struct side_event *event)
{
	struct echo_server *server = user;
	struct nopal_session *session = event->session;

	if (event->kind == SIDE_RECEIVED) {
		if (!server->count && server_echo(session, event->message))
			return;
		if (server->count == ECHO_AHEAD) {
			nopal_session_abort(session, "more came than was to come");
			return;
		}
		nopal_message_keep(event->message);
		server->waiting[(server->first + server->count++) % ECHO_AHEAD] = event->message;
	} else if (event->kind == SIDE_WRITABLE || event->kind == SIDE_ENDED) {
		while (server->count && (event->kind == SIDE_ENDED ||
					 server_echo(session, server->waiting[server->first]))) {
			nopal_message_give_back(session, server->waiting[server->first]);
			server->first = (server->first + 1) % ECHO_AHEAD;
			server->count--;
		}
	}
}

bool echo_run(struct echo *echo, const struct side_place *place)
{
	struct echo_client client = {
		.side = { .on = client_on, .patience_ns = echo->patience_ns },
		.file = { .echo = echo },
	};
	struct echo_server server = { .side = { .on = server_on } };
	struct side_work work = {
		.protocol = echo->protocol,
		.plan = echo->plan,
		.opener = &client.side,
		.listener = &server.side,
		.ask = client_ask,
		.answer = server_answer,
	};
	bool good = side_work(&work, place);

	echo->took_ns = client.side.ended_ns - client.side.begun_ns;
	echo->done = good && file_over(&client.file) && !client.file.wrong;
	return good;
}
