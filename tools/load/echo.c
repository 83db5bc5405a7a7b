/* SPDX-License-Identifier: MIT */
/*
 * echo.c -- a file goes to a server in pieces and comes back, every byte checked.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include <sys/socket.h>

#include <nopal/microprotocol.h>
#include "load/clock.h"
#include "load/echo.h"

/* How far a file is. */
struct echo_file {
	const struct echo *echo;
	uint64_t sent, back;
	bool wrong; /* a byte came that was not sent */
};

static uint8_t echo_byte(uint64_t at)
{
	return (uint8_t)((uint32_t)at * UINT32_C(2654435761) >> 24);
}

/* The next bytes to send, at most one piece; 0: none for now. */
static uint32_t file_next(const struct echo_file *file, uint8_t *bytes)
{
	uint64_t left = file->echo->size - file->sent;
	uint32_t length = left < file->echo->piece ? (uint32_t)left : file->echo->piece;

	if (file->sent - file->back >= (uint64_t)ECHO_AHEAD * file->echo->piece)
		return 0;
	for (uint32_t i = 0; i < length; i++)
		bytes[i] = echo_byte(file->sent + i);
	return length;
}

static void file_came(struct echo_file *file, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		file->wrong |= bytes[i] != echo_byte(file->back + i);
	file->back += length;
	file->wrong |= file->back > file->sent;
}

static bool file_over(const struct echo_file *file)
{
	return file->wrong || file->back >= file->echo->size;
}

/* ---------------------------------------------------------------------- TCP */

/* Sends and receives as much as can be now; false: nothing can, or the other side is gone. */
static bool socket_move(int fd, struct echo_file *file, bool *gone)
{
	uint8_t bytes[ECHO_MAX_BYTES];
	uint32_t length = file_next(file, bytes);
	ssize_t sent = 0, got;

	if (length > 0)
		sent = send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent > 0)
		file->sent += (uint64_t)sent;
	got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got > 0)
		file_came(file, bytes, (size_t)got);
	*gone = got == 0 || (got < 0 && errno != EAGAIN);
	return !*gone && (sent > 0 || got > 0);
}

static void ask_socket(struct echo *echo, const struct bench_place *place, uint16_t port)
{
	struct echo_file file = { .echo = echo };
	int64_t begun_ns = clock_now_ns();
	int fd = bench_socket_connected(place->address, SOCK_STREAM, port);
	struct pollfd ready = { .fd = fd };
	bool gone = fd < 0;

	if (gone)
		return;
	bench_socket_patience(fd, echo->patience_ns);
	while (!gone && !file_over(&file)) {
		if (socket_move(fd, &file, &gone) || gone)
			continue;
		ready.events = file.sent < echo->size ? POLLIN | POLLOUT : POLLIN;
		gone = poll(&ready, 1, (int)(echo->patience_ns / NOPAL_MILLISECOND)) <= 0;
	}
	close(fd);
	echo->took_ns = clock_now_ns() - begun_ns;
	echo->done = file_over(&file) && !file.wrong;
}

/* ------------------------------------------------------------------ configs */

struct echo_client {
	struct side side;
	struct echo_file file;
	int64_t begun_ns, ended_ns;
	bool sending;
};

static void client_over(struct echo_client *client)
{
	if (!client->side.over)
		client->ended_ns = side_now(&client->side);
	side_over(&client->side);
}

/* Callbacks may come from within nopal_send(): one at a time. */
static void client_push(struct echo_client *client)
{
	uint8_t bytes[ECHO_MAX_BYTES];
	uint32_t length;

	if (client->sending || client->side.over)
		return;
	client->sending = true;
	while ((length = file_next(&client->file, bytes)) > 0 &&
	       nopal_send(client->side.session, bytes, length, 0) == 0)
		client->file.sent += length;
	client->sending = false;
}

static void client_on_opened(struct nopal_session *session, void *user)
{
	struct echo_client *client = user;

	client->side.session = session;
	client_push(client);
}

static void client_on_writable(struct nopal_session *session, void *user)
{
	(void)session;
	client_push(user);
}

static void client_on_received(struct nopal_session *session, struct nopal_message *message,
			       void *user)
{
	struct echo_client *client = user;
	uint8_t bytes[ECHO_MAX_BYTES];

	(void)session;
	file_came(&client->file, bytes, nopal_message_copy(message, 0, bytes, sizeof(bytes)));
	side_heard(&client->side);
	if (file_over(&client->file))
		client_over(client);
	else
		client_push(client);
}

static void client_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			    void *user)
{
	(void)session, (void)end, (void)text;
	client_over(user);
}

static const struct nopal_callbacks client_callbacks = {
	.opened = client_on_opened,
	.received = client_on_received,
	.writable = client_on_writable,
	.ended = client_on_ended,
};

/* Answers that found no room wait, as the messages that they are. */
struct echo_server {
	struct side side;
	struct nopal_message *waiting[ECHO_AHEAD];
	uint32_t first, count;
};

static bool server_answer(struct nopal_session *session, const struct nopal_message *message)
{
	uint8_t bytes[ECHO_MAX_BYTES];
	size_t length = nopal_message_copy(message, 0, bytes, sizeof(bytes));

	return nopal_send(session, bytes, length, 0) == 0;
}

static void server_on_received(struct nopal_session *session, struct nopal_message *message,
			       void *user)
{
	struct echo_server *server = user;

	if (!server->count && server_answer(session, message))
		return;
	if (server->count == ECHO_AHEAD) {
		nopal_session_abort(session, "more came than was to come");
		return;
	}
	nopal_message_keep(message);
	server->waiting[(server->first + server->count++) % ECHO_AHEAD] = message;
}

static void server_on_writable(struct nopal_session *session, void *user)
{
	struct echo_server *server = user;

	while (server->count && server_answer(session, server->waiting[server->first])) {
		nopal_message_give_back(session, server->waiting[server->first]);
		server->first = (server->first + 1) % ECHO_AHEAD;
		server->count--;
	}
}

static void server_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			    void *user)
{
	struct echo_server *server = user;

	(void)end, (void)text;
	for (; server->count; server->count--) {
		nopal_message_give_back(session, server->waiting[server->first]);
		server->first = (server->first + 1) % ECHO_AHEAD;
	}
}

static const struct nopal_callbacks server_callbacks = {
	.accepted = bench_accepted,
	.received = server_on_received,
	.writable = server_on_writable,
	.ended = server_on_ended,
};

/* --------------------------------------------------------------------- both */

static void serve_runs(void *user, const struct bench_place *place, int tell)
{
	const struct echo *echo = user;
	struct echo_server server = { .count = 0 };
	uint8_t bytes[ECHO_MAX_BYTES];
	ssize_t got;
	int fd;

	if (echo->kind == ROUND_TRIPS_CONFIG) {
		side_listen(&server.side, place, echo->plan, &server_callbacks, tell);
		return;
	}
	fd = bench_partner_socket(place, SOCK_STREAM, tell);
	bench_socket_patience(fd, echo->patience_ns);
	while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		if (send(fd, bytes, (size_t)got, MSG_NOSIGNAL) != got)
			return; /* it blocks until all is taken */
}

static void client_results(const struct echo_client *client, struct echo *echo)
{
	echo->took_ns = client->ended_ns - client->begun_ns;
	echo->done = file_over(&client->file) && !client->file.wrong;
}

bool echo_run(struct echo *echo, const struct bench_place *place)
{
	struct echo_client client = {
		.side = { .patience_ns = echo->patience_ns },
		.file = { .echo = echo },
	};
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, place, serve_runs, echo);

	echo->done = false;
	if (good && echo->kind == ROUND_TRIPS_CONFIG) {
		client.begun_ns = clock_now_ns();
		side_open(&client.side, place, partner.port, echo->plan, &client_callbacks);
		client_results(&client, echo);
	} else if (good) {
		ask_socket(echo, place, partner.port);
	}
	bench_partner_end(&partner);
	return good;
}

bool echo_simulate(struct echo *echo, const struct side_link *link)
{
	struct echo_client client = {
		.side = { .patience_ns = echo->patience_ns },
		.file = { .echo = echo },
	};
	struct echo_server server = { .count = 0 };
	const struct side_peers peers = {
		.plan = echo->plan,
		.opens = &client_callbacks,
		.listens = &server_callbacks,
		.opener = &client,
		.listener = &server,
	};
	bool good = side_simulate(&client.side, &server.side, link, &peers);

	echo->done = false;
	if (good)
		client_results(&client, echo);
	return good;
}
