/* SPDX-License-Identifier: MIT */
/*
 * echo.c -- a file goes to a server in pieces and comes back, every byte checked.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>
#include <sys/socket.h>

#include <nopal/microprotocol.h>
#include "frame/loop.h"
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

static void socket_at_once(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

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
	socket_at_once(fd);
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
	struct echo_file file;
	struct loop *loop; /* NULL: it is simulated */
	struct nopal_world *world;
	struct loop_event *tick;
	struct nopal_session *session;
	int64_t begun_ns, ended_ns, heard_ns;
	bool sending, over;
};

static int64_t client_now(const struct echo_client *client)
{
	return clock_world_ns(client->loop, client->world);
}

static void client_over(struct echo_client *client)
{
	if (!client->over)
		client->ended_ns = client_now(client);
	client->over = true;
	if (client->loop)
		loop_stop(client->loop);
}

/* Callbacks may come from within nopal_send(): one at a time. */
static void client_push(struct echo_client *client)
{
	uint8_t bytes[ECHO_MAX_BYTES];
	uint32_t length;

	if (client->sending || client->over)
		return;
	client->sending = true;
	while ((length = file_next(&client->file, bytes)) > 0 &&
	       nopal_send(client->session, bytes, length, 0) == 0)
		client->file.sent += length;
	client->sending = false;
}

static void client_on_opened(struct nopal_session *session, void *user)
{
	struct echo_client *client = user;

	client->session = session;
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
	client->heard_ns = client_now(client);
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
	struct nopal_message *waiting[ECHO_AHEAD];
	uint32_t first, count;
};

static void *server_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

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
	.accepted = server_on_accepted,
	.received = server_on_received,
	.writable = server_on_writable,
	.ended = server_on_ended,
};

static void client_on_tick(void *user)
{
	struct echo_client *client = user;
	int64_t patience_ns = client->file.echo->patience_ns;

	if (client_now(client) - client->heard_ns > patience_ns)
		client_over(client);
	else
		loop_event_start(client->tick, patience_ns);
}

static void client_results(const struct echo_client *client, struct echo *echo)
{
	echo->took_ns = client->ended_ns - client->begun_ns;
	echo->done = file_over(&client->file) && !client->file.wrong;
}

/* --------------------------------------------------------------------- both */

static void serve_runs(void *user, const struct bench_place *place, int tell)
{
	const struct echo *echo = user;

	if (echo->kind == ROUND_TRIPS_CONFIG) {
		struct loop *loop = loop_new(NULL);
		struct echo_server server = { .count = 0 };

		if (bench_partner_listen(loop, place, echo->plan, &server_callbacks, &server, tell))
			loop_run(loop);
	} else {
		uint8_t bytes[ECHO_MAX_BYTES];
		uint16_t port = 0;
		int fd = bench_socket_bound(place->address, SOCK_STREAM, &port);
		ssize_t got;

		if (fd < 0 || listen(fd, 1))
			return;
		bench_partner_tell(tell, port);
		fd = accept(fd, NULL, NULL);
		if (fd < 0)
			return;
		socket_at_once(fd);
		while ((got = recv(fd, bytes, sizeof(bytes), 0)) > 0)
			if (send(fd, bytes, (size_t)got, MSG_NOSIGNAL) != got)
				return; /* it blocks until all is taken */
	}
}

bool echo_run(struct echo *echo, const struct bench_place *place)
{
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, place, serve_runs, echo);

	echo->done = false;
	if (good && echo->kind == ROUND_TRIPS_CONFIG) {
		struct echo_client client = { .file = { .echo = echo }, .loop = loop_new(NULL) };
		struct nopal_endpoint *endpoint;
		struct nopal_address peer;

		if (client.loop && bench_address(place->address, partner.port, &peer)) {
			client.tick = loop_event_new(client.loop, LOOP_TIMER, -1, client_on_tick,
						     &client);
			endpoint = loop_endpoint_to(client.loop, &peer);
			client.begun_ns = client.heard_ns = client_now(&client);
			if (client.tick)
				loop_event_start(client.tick, echo->patience_ns);
			if (endpoint &&
			    nopal_open(endpoint, echo->plan, &peer, &client_callbacks, &client) &&
			    !client.over)
				loop_run(client.loop);
			client.over = true; /* what still arrives is not counted */
			client_results(&client, echo);
			loop_event_free(client.tick);
			loop_free(client.loop);
		}
	} else if (good) {
		ask_socket(echo, place, partner.port);
	}
	bench_partner_end(&partner);
	return good;
}

bool echo_simulate(struct echo *echo, const struct round_trips_link *link)
{
	struct nopal_world *world = nopal_sim_new(link->seed);
	struct echo_client client = { .file = { .echo = echo }, .world = world };
	struct echo_server server = { .count = 0 };
	struct round_trips_peers peers = { .plan = echo->plan,
					   .opens = &client_callbacks,
					   .listens = &server_callbacks,
					   .opener = &client,
					   .listener = &server };
	bool good = world && round_trips_peers_open(world, link, &peers);

	echo->done = false;
	while (good && !client.over && nopal_sim_step(world))
		if (nopal_world_now(world) - client.heard_ns > echo->patience_ns)
			break;
	client.over = true;
	if (good)
		client_results(&client, echo);
	nopal_world_free(world);
	return good;
}
