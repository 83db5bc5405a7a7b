/* SPDX-License-Identifier: MIT */
/*
 * round_trips.c -- round trips of a message: plain UDP, the kernel's TCP, and configs, between two
 * processes or in the simulator.
 *
 * Plain UDP is connected on both sides: the least that the kernel does for a datagram.
 */
#include <errno.h>
#include <unistd.h>
#include <sys/socket.h>

#include "load/clock.h"
#include "load/round_trips.h"

enum { ROUND_TRIPS_ASK_AFTER = 1 << 16 }; /* polls between looks at the clock */

/* Takes note of a round trip; false: it was the last one. */
static bool round_trips_note(struct round_trips *round_trips, int64_t trip_ns)
{
	if (round_trips->done >= 0)
		round_trips->round_trips_ns[round_trips->done] = trip_ns;
	return ++round_trips->done < round_trips->count;
}

/* ------------------------------------------------------------ plain sockets */

/* One end of a socket's ping-pong. */
struct round_trips_socket {
	const struct round_trips *round_trips;
	int fd;
	size_t length; /* of a message here */
	uint8_t bytes[ROUND_TRIPS_MAX_BYTES];
};

static int round_trips_type(const struct round_trips *round_trips)
{
	return round_trips->kind == ROUND_TRIPS_TCP ? SOCK_STREAM : SOCK_DGRAM;
}

static struct round_trips_socket round_trips_socket_of(const struct round_trips *round_trips,
						       int fd)
{
	bool tcp = round_trips->kind == ROUND_TRIPS_TCP;

	bench_socket_patience(fd, round_trips->patience_ns);
	return (struct round_trips_socket){
		.round_trips = round_trips,
		.fd = fd,
		.length = tcp && round_trips->bytes == 0 ? 1 : round_trips->bytes,
	};
}

/* A whole message; false: the other side is gone, or silent for too long. */
static bool round_trips_receive(struct round_trips_socket *sock)
{
	bool spin = sock->round_trips->way == SIDE_SPIN;
	bool stream = sock->round_trips->kind == ROUND_TRIPS_TCP;
	int64_t asked_ns = 0;
	size_t got = 0;

	for (unsigned polls = 1;; polls++) {
		ssize_t more = recv(sock->fd, sock->bytes + got, sock->length - got,
				    spin ? MSG_DONTWAIT : 0);

		if (more > 0 || (more == 0 && !stream)) {
			got += (size_t)more;
			if (got == sock->length)
				return true;
			continue;
		}
		if (more == 0 || !spin || (errno != EAGAIN && errno != EWOULDBLOCK))
			return false;
		if (polls % ROUND_TRIPS_ASK_AFTER)
			continue;
		if (asked_ns == 0)
			asked_ns = clock_now_ns();
		else if (clock_now_ns() - asked_ns > sock->round_trips->patience_ns)
			return false;
	}
}

static bool round_trips_send(const struct round_trips_socket *sock)
{
	return send(sock->fd, sock->bytes, sock->length, MSG_NOSIGNAL) == (ssize_t)sock->length;
}

static void ping_socket(struct round_trips *round_trips, const struct bench_place *place,
			uint16_t port)
{
	int fd = bench_socket_connected(place->address, round_trips_type(round_trips), port);
	struct round_trips_socket sock = round_trips_socket_of(round_trips, fd);
	int64_t begun_ns = clock_now_ns(), now_ns;

	if (fd < 0)
		return;
	while (round_trips_send(&sock) && round_trips_receive(&sock)) {
		now_ns = clock_now_ns();
		if (!round_trips_note(round_trips, now_ns - begun_ns))
			break;
		begun_ns = now_ns;
	}
	close(fd);
}

/* ------------------------------------------------------------------ configs */

/* One side of a config's ping-pong. */
struct round_trips_side {
	struct side side;
	struct round_trips *round_trips; /* NULL: the side answers */
};

static void side_ping(struct round_trips_side *one)
{
	uint8_t bytes[ROUND_TRIPS_MAX_BYTES] = { 0 };

	nopal_send(one->side.session, bytes, one->round_trips->bytes, 0);
}

static void side_on_opened(struct nopal_session *session, void *user)
{
	struct round_trips_side *one = user;

	one->side.session = session;
	side_heard(&one->side);
	if (one->round_trips)
		side_ping(one);
}

static void side_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct round_trips_side *one = user;
	int64_t begun_ns = one->side.heard_ns;

	if (!one->round_trips) {
		const uint8_t *bytes = NULL;
		uint32_t length = 0;

		if (nopal_message_length(message) > 0)
			bytes = nopal_message_piece(message, 0, &length);
		nopal_send(session, bytes, length, 0);
		return;
	}
	if (one->side.over)
		return;
	side_heard(&one->side);
	if (round_trips_note(one->round_trips, one->side.heard_ns - begun_ns))
		side_ping(one);
	else
		side_over(&one->side);
}

static const struct nopal_callbacks side_callbacks = {
	.accepted = bench_accepted,
	.opened = side_on_opened,
	.received = side_on_received,
	.ended = side_on_ended,
};

/* --------------------------------------------------------------------- both */

static void pong_runs(void *user, const struct bench_place *place, int tell)
{
	const struct round_trips *round_trips = user;
	struct round_trips_side pong = { .side = { .way = round_trips->way } };
	struct round_trips_socket sock;
	int fd;

	if (round_trips->kind == ROUND_TRIPS_CONFIG) {
		side_listen(&pong.side, place, round_trips->plan, &side_callbacks, tell);
		return;
	}
	fd = bench_partner_socket(place, round_trips_type(round_trips), tell);
	sock = round_trips_socket_of(round_trips, fd);
	/* The first datagram tells the peer's address. */
	if (fd < 0 || (round_trips->kind == ROUND_TRIPS_UDP &&
		       (bench_socket_meet(fd, sock.bytes, sizeof(sock.bytes)) < 0 ||
			!round_trips_send(&sock))))
		return;
	while (round_trips_receive(&sock) && round_trips_send(&sock))
		;
}

bool round_trips_run(struct round_trips *round_trips, const struct bench_place *place)
{
	struct round_trips_side ping = {
		.side = { .way = round_trips->way, .patience_ns = round_trips->patience_ns },
		.round_trips = round_trips,
	};
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, place, pong_runs, round_trips);

	round_trips->done = -round_trips->warm;
	if (good && round_trips->kind == ROUND_TRIPS_CONFIG)
		side_open(&ping.side, place, partner.port, round_trips->plan, &side_callbacks);
	else if (good)
		ping_socket(round_trips, place, partner.port);
	bench_partner_end(&partner);
	return good;
}

bool round_trips_simulate(struct round_trips *round_trips, const struct side_link *link)
{
	struct round_trips_side pong = { .round_trips = NULL }, ping = {
		.side = { .patience_ns = round_trips->patience_ns },
		.round_trips = round_trips,
	};
	const struct side_peers peers = {
		.plan = round_trips->plan,
		.opens = &side_callbacks,
		.listens = &side_callbacks,
		.opener = &ping,
		.listener = &pong,
	};

	round_trips->done = -round_trips->warm;
	return side_simulate(&ping.side, &pong.side, link, &peers);
}
