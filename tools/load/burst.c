/* SPDX-License-Identifier: MIT */
/*
 * burst.c -- many messages one way and one answer when all are there.
 *
 * Every message begins with the number of its burst, so that what is late is not counted for the
 * next.  The answer is how long the arrivals took.
 */
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>

#include "load/burst.h"
#include "load/clock.h"

/* Arrivals of a burst at the receiver. */
struct burst_arrivals {
	int64_t number; /* of the burst */
	uint32_t count;
	int64_t first_ns, last_ns;
};

/* Takes note of a message; true: it was the last one. */
static bool arrivals_note(struct burst_arrivals *arrivals, uint32_t count, int64_t number,
			  int64_t now_ns)
{
	if (number < arrivals->number)
		return false;
	if (number > arrivals->number || arrivals->count == 0)
		*arrivals = (struct burst_arrivals){ .number = number, .first_ns = now_ns };
	arrivals->last_ns = now_ns;
	return ++arrivals->count == count;
}

/* ------------------------------------------------------------ plain sockets */

/* One burst; false: no answer came. */
static bool throw_one(int fd, struct burst *burst, int64_t number)
{
	uint8_t bytes[BURST_MAX_BYTES] = { 0 };
	int64_t begun_ns = clock_now_ns();

	memcpy(bytes, &number, sizeof(number));
	for (uint32_t i = 0; i < burst->count; i++)
		if (send(fd, bytes, burst->bytes, MSG_NOSIGNAL) != (ssize_t)burst->bytes)
			return false;
	if (!bench_socket_receive(fd, &burst->receiver_ns, sizeof(burst->receiver_ns)))
		return false;
	burst->sender_ns = clock_now_ns() - begun_ns;
	return true;
}

static void throw_all(struct burst *burst, const struct bench_place *place, uint16_t port)
{
	int type = burst->kind == ROUND_TRIPS_TCP ? SOCK_STREAM : SOCK_DGRAM;
	int fd = bench_socket_connected(place->address, type, port);

	if (fd < 0)
		return;
	bench_socket_patience(fd, burst->patience_ns);
	bench_socket_buffers(fd);
	burst->done = true;
	for (int i = 0; i <= burst->warm && burst->done; i++)
		burst->done = throw_one(fd, burst, i);
	close(fd);
}

/* ------------------------------------------------------------------ configs */

/* One side of a config's bursts. */
struct burst_side {
	struct side side; /* heard when a burst began */
	struct burst *burst;
	bool throws;
	struct burst_arrivals arrivals;
	int64_t number; /* of the burst */
	uint32_t sent;
	bool sending;
};

/* Callbacks may come from within nopal_send(): one at a time. */
static void side_throw(struct burst_side *one)
{
	uint8_t bytes[BURST_MAX_BYTES] = { 0 };

	if (one->sending)
		return;
	one->sending = true;
	memcpy(bytes, &one->number, sizeof(one->number));
	while (one->sent < one->burst->count &&
	       nopal_send(one->side.session, bytes, one->burst->bytes, 0) == 0)
		one->sent++;
	one->sending = false;
}

static void side_begin(struct burst_side *one)
{
	one->sent = 0;
	side_heard(&one->side);
	side_throw(one);
}

static void side_on_opened(struct nopal_session *session, void *user)
{
	struct burst_side *one = user;

	one->side.session = session;
	if (one->throws)
		side_begin(one);
}

static void side_on_writable(struct nopal_session *session, void *user)
{
	struct burst_side *one = user;

	(void)session;
	if (one->throws)
		side_throw(one);
}

static void side_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct burst_side *one = user;
	struct burst *burst = one->burst;
	int64_t number = 0, took_ns;

	if (one->throws) {
		if (one->side.over || one->sent < burst->count)
			return;
		nopal_message_copy(message, 0, &burst->receiver_ns, sizeof(burst->receiver_ns));
		burst->sender_ns = side_now(&one->side) - one->side.heard_ns;
		burst->done = one->number++ == burst->warm;
		if (burst->done)
			side_over(&one->side);
		else
			side_begin(one);
		return;
	}
	nopal_message_copy(message, 0, &number, sizeof(number));
	if (!arrivals_note(&one->arrivals, burst->count, number, side_now(&one->side)))
		return;
	took_ns = one->arrivals.last_ns - one->arrivals.first_ns;
	nopal_send(session, &took_ns, sizeof(took_ns), 0);
}

static const struct nopal_callbacks side_callbacks = {
	.accepted = bench_accepted,
	.opened = side_on_opened,
	.received = side_on_received,
	.writable = side_on_writable,
	.ended = side_on_ended,
};

/* --------------------------------------------------------------------- both */

static void catch_runs(void *user, const struct bench_place *place, int tell)
{
	struct burst *burst = user;
	struct burst_side catches = { .burst = burst };
	bool tcp = burst->kind == ROUND_TRIPS_TCP, good;
	uint8_t bytes[BURST_MAX_BYTES];
	int64_t number, took_ns;
	int fd;

	if (burst->kind == ROUND_TRIPS_CONFIG) {
		side_listen(&catches.side, place, burst->plan, &side_callbacks, tell);
		return;
	}
	fd = bench_partner_socket(place, tcp ? SOCK_STREAM : SOCK_DGRAM, tell);
	bench_socket_patience(fd, burst->patience_ns);
	/* The first message of UDP tells whom to answer. */
	good = tcp ? bench_socket_receive(fd, bytes, burst->bytes)
		   : bench_socket_meet(fd, bytes, burst->bytes) == 0;
	while (good) {
		memcpy(&number, bytes, sizeof(number));
		if (arrivals_note(&catches.arrivals, burst->count, number, clock_now_ns())) {
			took_ns = catches.arrivals.last_ns - catches.arrivals.first_ns;
			if (send(fd, &took_ns, sizeof(took_ns), MSG_NOSIGNAL) < 0)
				return;
		}
		good = bench_socket_receive(fd, bytes, burst->bytes);
	}
}

bool burst_run(struct burst *burst, const struct bench_place *place)
{
	struct burst_side throws = {
		.side = { .patience_ns = burst->patience_ns },
		.burst = burst,
		.throws = true,
	};
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, place, catch_runs, burst);

	burst->done = false;
	if (good && burst->kind == ROUND_TRIPS_CONFIG)
		side_open(&throws.side, place, partner.port, burst->plan, &side_callbacks);
	else if (good)
		throw_all(burst, place, partner.port);
	bench_partner_end(&partner);
	return good;
}

bool burst_simulate(struct burst *burst, const struct side_link *link)
{
	struct burst_side catches = { .burst = burst }, throws = {
		.side = { .patience_ns = burst->patience_ns },
		.burst = burst,
		.throws = true,
	};
	const struct side_peers peers = {
		.plan = burst->plan,
		.opens = &side_callbacks,
		.listens = &side_callbacks,
		.opener = &throws,
		.listener = &catches,
	};

	burst->done = false;
	return side_simulate(&throws.side, &catches.side, link, &peers);
}
