/* SPDX-License-Identifier: MIT */
/*
 * download.c -- an object comes from a server in chunks, every byte checked.
 */
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include <nopal/microprotocol.h>
#include "load/clock.h"
#include "load/download.h"
#include "load/pattern.h"

static const uint8_t download_request = 'g'; /* all that the client sends */

struct download_client {
	struct side side;
	struct download *download;
};

struct download_server {
	struct side side;
	const struct download *download;
	uint64_t sent;
	bool asked, sending;
};

static void download_took(struct download *download, const uint8_t *bytes, size_t length)
{
	download->wrong |= !pattern_is(bytes, length, download->came);
	download->came += length;
}

static bool download_is_over(const struct download *download)
{
	return download->wrong || download->came >= download->size;
}

/* The chunk of the object that begins at `at`; its length, 0 behind the end. */
static uint32_t download_chunk(const struct download *download, uint64_t at, uint8_t *bytes)
{
	uint64_t left = download->size - at;
	uint32_t length = left < download->chunk ? (uint32_t)left : download->chunk;

	pattern_fill(bytes, length, at);
	return length;
}

/* ---------------------------------------------------------------------- TCP */

static bool socket_congestion(int fd, const char *congestion)
{
	return !congestion || setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
					 (socklen_t)strlen(congestion)) == 0;
}

bool download_has_congestion(const char *congestion)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && socket_congestion(fd, congestion);

	if (fd >= 0)
		close(fd);
	return has;
}

static void client_ask(void *user, int fd)
{
	struct download_client *client = user;
	struct download *download = client->download;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	uint8_t bytes[DOWNLOAD_MAX_CHUNK];
	ssize_t got = send(fd, &download_request, sizeof(download_request), MSG_NOSIGNAL);

	while (got > 0 && !download_is_over(download)) {
		int64_t left_ns = client->side.begun_ns + download->cutoff_ns - clock_now_ns();

		if (left_ns <= 0 || poll(&ready, 1, (int)(left_ns / NOPAL_MILLISECOND) + 1) <= 0)
			break;
		got = recv(fd, bytes, sizeof(bytes), 0);
		if (got > 0)
			download_took(download, bytes, (size_t)got);
	}
	client->side.ended_ns = clock_now_ns();
}

static void server_answer(void *user, int fd)
{
	const struct download_server *server = user;
	uint8_t bytes[DOWNLOAD_MAX_CHUNK];
	uint32_t length;
	bool good = socket_congestion(fd, server->download->congestion) &&
		    bench_socket_receive(fd, bytes, sizeof(download_request));

	for (uint64_t at = 0; good && (length = download_chunk(server->download, at, bytes)) > 0;
	     at += length)
		good = send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
	/* The client closes; until then what is under way is carried. */
	while (good && recv(fd, bytes, sizeof(bytes), 0) > 0)
		;
}

/* ------------------------------------------------------------------ configs */

static void client_on(void *user, const struct side_event *event)
{
	struct download_client *client = user;
	uint8_t bytes[DOWNLOAD_MAX_CHUNK];

	if (event->kind == SIDE_OPENED)
		nopal_send(event->session, &download_request, sizeof(download_request), 0);
	else if (event->kind == SIDE_RECEIVED)
		download_took(client->download, bytes,
			      nopal_message_copy(event->message, 0, bytes, sizeof(bytes)));
	if (event->kind == SIDE_ENDED || download_is_over(client->download))
		side_over(&client->side);
}

static void server_on(void *user, const struct side_event *event)
{
	struct download_server *server = user;
	uint8_t bytes[DOWNLOAD_MAX_CHUNK];
	uint32_t length;

	server->asked |= event->kind == SIDE_RECEIVED;
	/* Events may come from within nopal_send(): one at a time. */
	if (!server->asked || server->sending || event->kind == SIDE_ENDED)
		return;
	server->sending = true;
	while ((length = download_chunk(server->download, server->sent, bytes)) > 0 &&
	       nopal_send(event->session, bytes, length, 0) == 0)
		server->sent += length;
	server->sending = false;
}

bool download_run(struct download *download, const struct side_place *place)
{
	/* Nothing that comes prolongs the client's patience: it is the cutoff. */
	struct download_client client = {
		.side = { .on = client_on, .patience_ns = download->cutoff_ns },
		.download = download,
	};
	struct download_server server = { .side = { .on = server_on }, .download = download };
	struct side_work work = {
		.protocol = download->protocol,
		.plan = download->plan,
		.opener = &client.side,
		.listener = &server.side,
		.ask = client_ask,
		.answer = server_answer,
	};
	bool good;

	download->wrong = false;
	download->came = 0;
	good = side_work(&work, place);
	download->done = good && download_is_over(download) && !download->wrong;
	download->took_ns = client.side.ended_ns - client.side.begun_ns;
	if (!download_is_over(download) || download->took_ns > download->cutoff_ns)
		download->took_ns = download->cutoff_ns;
	return good;
}
