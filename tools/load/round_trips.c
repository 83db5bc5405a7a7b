/* SPDX-License-Identifier: MIT */
/*
 * round_trips.c -- round trips of a message: plain UDP, the kernel's TCP, and configs, between two
 * processes or in the simulator.
 *
 * Plain UDP is connected on both sides: the least that the kernel does for a datagram.
 */
#include <errno.h>
#include <sys/socket.h>

#include "load/clock.h"
#include "load/round_trips.h"

enum { ROUND_TRIPS_ASK_AFTER = 1 << 16 }; /* polls between looks at the clock */

struct round_trips_side {
	struct side side;
	struct round_trips *round_trips;
	bool asks;
};

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

static struct round_trips_socket round_trips_socket_of(const struct round_trips_side *one, int fd)
{
	const struct round_trips *round_trips = one->round_trips;
	bool tcp = round_trips->protocol == SIDE_TCP;

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
	bool stream = sock->round_trips->protocol == SIDE_TCP;
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

static void round_trips_ask(void *user, int fd)
{
	struct round_trips_side *ping = user;
	struct round_trips_socket sock = round_trips_socket_of(ping, fd);
	int64_t begun_ns = clock_now_ns(), now_ns;

	while (round_trips_send(&sock) && round_trips_receive(&sock)) {
		now_ns = clock_now_ns();
		if (!round_trips_note(ping->round_trips, now_ns - begun_ns))
			break;
		begun_ns = now_ns;
	}
}

static void round_trips_answer(void *user, int fd)
{
	const struct round_trips_side *pong = user;
	struct round_trips_socket sock = round_trips_socket_of(pong, fd);

	/* The first datagram tells the peer's address. */
	if (pong->round_trips->protocol == SIDE_UDP &&
	    (bench_socket_meet(fd, sock.bytes, sizeof(sock.bytes)) < 0 || !round_trips_send(&sock)))
		return;
	while (round_trips_receive(&sock) && round_trips_send(&sock))
		;
}

/* ------------------------------------------------------------------ configs */

static void round_trips_on(void *user, const struct side_event *event)
{
	static const uint8_t zeros[ROUND_TRIPS_MAX_BYTES];
	struct round_trips_side *one = user;
	struct side *side = &one->side;
	int64_t begun_ns = side->heard_ns;
	const uint8_t *bytes = NULL;
	uint32_t length = 0;

	switch (event->kind) {
	case SIDE_OPENED:
		side_heard(side);
		if (one->asks)
			nopal_send(event->session, zeros, one->round_trips->bytes, 0);
		break;
	case SIDE_RECEIVED:
		if (side->over)
			break;
		if (!one->asks) {
			if (nopal_message_length(event->message) > 0)
				bytes = nopal_message_piece(event->message, 0, &length);
			nopal_send(event->session, bytes, length, 0);
			break;
		}
		side_heard(side);
		if (round_trips_note(one->round_trips, side->heard_ns - begun_ns))
			nopal_send(event->session, zeros, one->round_trips->bytes, 0);
		else
			side_over(side);
		break;
	case SIDE_ENDED:
		side_over(side);
		break;
	default:
		break;
	}
}

bool round_trips_run(struct round_trips *round_trips, const struct side_place *place)
{
	struct side side = {
		.on = round_trips_on,
		.way = round_trips->way,
		.patience_ns = round_trips->patience_ns,
	};
	struct round_trips_side ping = { side, round_trips, true };
	struct round_trips_side pong = { side, round_trips, false };

	round_trips->done = -round_trips->warm;
	return side_work(&(struct side_work){ .protocol = round_trips->protocol,
					      .plan = round_trips->plan,
					      .opener = &ping.side,
					      .listener = &pong.side,
					      .ask = round_trips_ask,
					      .answer = round_trips_answer },
			 place);
}
