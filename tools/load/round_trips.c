/* SPDX-License-Identifier: MIT */
/*
 * round_trips.c -- round trips of a message: plain UDP, the kernel's TCP, and configs, between two
 * processes or in the simulator.
 *
 * Plain UDP is connected on both sides: the least that the kernel does for a datagram.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <nopal/microprotocol.h>
#include "frame/loop.h"
#include "load/clock.h"
#include "load/round_trips.h"

enum {
	ROUND_TRIPS_ASK_AFTER = 1 << 16, /* polls between looks at the clock */
	ROUND_TRIPS_SIM_PORT = 9000,
	ROUND_TRIPS_NS_PER_US = 1000,
};
#define ROUND_TRIPS_LINGER_NS (50 * NOPAL_MICROSECOND)

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
	bool spin;
	uint8_t bytes[ROUND_TRIPS_MAX_BYTES];
};

static struct round_trips_socket round_trips_socket_of(const struct round_trips *round_trips,
						       int fd)
{
	bool tcp = round_trips->kind == ROUND_TRIPS_TCP;

	return (struct round_trips_socket){
		.round_trips = round_trips,
		.fd = fd,
		.length = tcp && round_trips->bytes == 0 ? 1 : round_trips->bytes,
		.spin = round_trips->way == ROUND_TRIPS_SPIN,
	};
}

static bool round_trips_again(bool spin)
{
	return spin && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* A whole message; false: the other side is gone, or silent for too long. */
static bool round_trips_receive(struct round_trips_socket *sock)
{
	int flags = sock->spin ? MSG_DONTWAIT : 0;
	bool stream = sock->round_trips->kind == ROUND_TRIPS_TCP;
	int64_t asked_ns = 0;
	size_t got = 0;

	for (unsigned polls = 1;; polls++) {
		ssize_t more = recv(sock->fd, sock->bytes + got, sock->length - got, flags);

		if (more > 0 || (more == 0 && !stream)) {
			got += (size_t)more;
			if (got == sock->length)
				return true;
			continue;
		}
		if (more == 0 || !round_trips_again(sock->spin))
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

static void round_trips_patience(const struct round_trips_socket *sock)
{
	int64_t patience_ns = sock->round_trips->patience_ns;
	struct timeval patience = {
		.tv_sec = patience_ns / NOPAL_SECOND,
		.tv_usec = patience_ns % NOPAL_SECOND / ROUND_TRIPS_NS_PER_US,
	};
	int on = 1;

	setsockopt(sock->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(sock->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* The first datagram says whom to answer. */
static int pong_meet_udp(struct round_trips_socket *sock)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);

	if (recvfrom(sock->fd, sock->bytes, sizeof(sock->bytes), 0, (struct sockaddr *)&from,
		     &length) != (ssize_t)sock->length ||
	    connect(sock->fd, (struct sockaddr *)&from, length) || !round_trips_send(sock))
		return -1;
	return sock->fd;
}

static void ping_socket(struct round_trips *round_trips, const struct bench_place *place,
			uint16_t port)
{
	bool tcp = round_trips->kind == ROUND_TRIPS_TCP;
	int fd = bench_socket_connected(place->address, tcp ? SOCK_STREAM : SOCK_DGRAM, port);
	struct round_trips_socket sock = round_trips_socket_of(round_trips, fd);
	int64_t begun_ns, now_ns;

	if (fd < 0)
		return;
	round_trips_patience(&sock);
	begun_ns = clock_now_ns();
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
	struct round_trips *round_trips; /* NULL: it answers */
	struct loop *loop;		 /* NULL: it is simulated */
	struct nopal_world *world;
	struct loop_event *tick;
	struct nopal_session *session;
	int64_t begun_ns, progress;
	bool over;
};

static int64_t side_now(const struct round_trips_side *side)
{
	return clock_world_ns(side->loop, side->world);
}

static void side_over(struct round_trips_side *side)
{
	side->over = true;
	if (side->loop)
		loop_stop(side->loop);
}

static void side_ping(struct round_trips_side *side)
{
	uint8_t bytes[ROUND_TRIPS_MAX_BYTES] = { 0 };

	nopal_send(side->session, bytes, side->round_trips->bytes, 0);
}

static void side_on_opened(struct nopal_session *session, void *user)
{
	struct round_trips_side *side = user;

	side->session = session;
	side->begun_ns = side_now(side);
	if (side->round_trips)
		side_ping(side);
}

static void *side_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void side_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct round_trips_side *side = user;
	int64_t now_ns;

	if (!side->round_trips) {
		const uint8_t *bytes = NULL;
		uint32_t length = 0;

		if (nopal_message_length(message) > 0)
			bytes = nopal_message_piece(message, 0, &length);
		nopal_send(session, bytes, length, 0);
		return;
	}
	if (side->over)
		return;
	now_ns = side_now(side);
	if (!round_trips_note(side->round_trips, now_ns - side->begun_ns)) {
		side_over(side);
		return;
	}
	side->begun_ns = now_ns;
	side_ping(side);
}

static void side_on_ended(struct nopal_session *session, enum nopal_end end, const char *text,
			  void *user)
{
	(void)session;
	(void)end;
	(void)text;
	side_over(user);
}

static const struct nopal_callbacks side_callbacks = {
	.accepted = side_on_accepted,
	.opened = side_on_opened,
	.received = side_on_received,
	.ended = side_on_ended,
};

/* Some configs do not send a lost message again: then the run ends. */
static void side_on_tick(void *user)
{
	struct round_trips_side *side = user;

	if (side->round_trips->done == side->progress)
		side_over(side);
	side->progress = side->round_trips->done;
	loop_event_start(side->tick, side->round_trips->patience_ns);
}

static void side_run(struct round_trips_side *side, enum round_trips_way way)
{
	if (way == ROUND_TRIPS_LINGER)
		nopal_live_linger(side->world, ROUND_TRIPS_LINGER_NS);
	side->tick = side->round_trips
			     ? loop_event_new(side->loop, LOOP_TIMER, -1, side_on_tick, side)
			     : NULL;
	if (side->tick)
		loop_event_start(side->tick, side->round_trips->patience_ns);
	if (way == ROUND_TRIPS_SPIN)
		loop_spin(side->loop, &side->over);
	else if (!side->over)
		loop_run(side->loop);
	loop_event_free(side->tick);
}

/* --------------------------------------------------------------------- both */

static void pong_runs(void *user, const struct bench_place *place, int tell)
{
	const struct round_trips *round_trips = user;

	if (round_trips->kind == ROUND_TRIPS_CONFIG) {
		struct round_trips_side side = { .loop = loop_new(NULL) };

		if (!side.loop)
			return;
		side.world = loop_world(side.loop);
		if (bench_partner_listen(side.loop, place, round_trips->plan, &side_callbacks,
					 &side, tell))
			side_run(&side, round_trips->way);
	} else {
		bool tcp = round_trips->kind == ROUND_TRIPS_TCP;
		uint16_t port = 0;
		int fd = bench_socket_bound(place->address, tcp ? SOCK_STREAM : SOCK_DGRAM, &port);
		struct round_trips_socket sock = round_trips_socket_of(round_trips, fd);

		if (fd < 0 || (tcp && listen(fd, 1)))
			return;
		bench_partner_tell(tell, port);
		sock.fd = tcp ? accept(fd, NULL, NULL) : pong_meet_udp(&sock);
		if (sock.fd < 0)
			return;
		round_trips_patience(&sock);
		while (round_trips_receive(&sock) && round_trips_send(&sock))
			;
	}
}

bool round_trips_run(struct round_trips *round_trips, const struct bench_place *place)
{
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, place, pong_runs, round_trips);

	round_trips->done = -round_trips->warm;
	if (good && round_trips->kind == ROUND_TRIPS_CONFIG) {
		struct round_trips_side side = { .round_trips = round_trips,
						 .loop = loop_new(NULL) };

		if (side.loop) {
			side.world = loop_world(side.loop);
			side.progress = round_trips->done;
			if (bench_partner_open(side.loop, place, partner.port, round_trips->plan,
					       &side_callbacks, &side))
				side_run(&side, round_trips->way);
			side.over = true; /* what still arrives is not counted */
			loop_free(side.loop);
		}
	} else if (good) {
		ping_socket(round_trips, place, partner.port);
	}
	bench_partner_end(&partner);
	return good;
}

bool round_trips_peers_open(struct nopal_world *world, const struct round_trips_link *link,
			    const struct round_trips_peers *peers)
{
	struct nopal_endpoint *from, *to;
	struct nopal_address peer;

	nopal_sim_host(world);
	nopal_sim_host(world);
	nopal_sim_connect(world, 0, 1, link->forward, link->reverse);
	from = nopal_sim_endpoint(world, 0, 0);
	to = nopal_sim_endpoint(world, 1, ROUND_TRIPS_SIM_PORT);
	nopal_sim_address(1, ROUND_TRIPS_SIM_PORT, &peer);
	return from && to &&
	       nopal_endpoint_allow(to, peers->plan, NOPAL_ALLOW_CONNECTIONLESS, peers->listens,
				    peers->listener) == 0 &&
	       nopal_open(from, peers->plan, &peer, peers->opens, peers->opener);
}

bool round_trips_simulate(struct round_trips *round_trips, const struct round_trips_link *link)
{
	struct nopal_world *world = nopal_sim_new(link->seed);
	struct round_trips_side ping = { .round_trips = round_trips, .world = world },
				pong = { .world = world };
	struct round_trips_peers peers = { .plan = round_trips->plan,
					   .opens = &side_callbacks,
					   .listens = &side_callbacks,
					   .opener = &ping,
					   .listener = &pong };
	bool good;

	round_trips->done = -round_trips->warm;
	good = world && round_trips_peers_open(world, link, &peers);
	if (good) {
		/* Until it is over, or nothing came for too long. */
		while (!ping.over && nopal_sim_step(ping.world))
			if (nopal_world_now(ping.world) - ping.begun_ns >
			    ping.round_trips->patience_ns)
				break;
	}
	ping.over = true;
	nopal_world_free(world);
	return good;
}
