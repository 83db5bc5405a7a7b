/* SPDX-License-Identifier: MIT */
/*
 * volley.c -- many messages one way and one answer when all are there.
 *
 * Every message begins with the number of its volley, so that what is late is not counted for the
 * next.  The answer is how long the arrivals took.
 */
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <nopal/microprotocol.h>
#include "frame/loop.h"
#include "load/clock.h"
#include "load/volley.h"

enum { VOLLEY_NS_PER_US = 1000 };

/* Arrivals of a volley at the receiver. */
struct volley_arrivals {
	int64_t number; /* of the volley */
	uint32_t count;
	int64_t first_ns, last_ns;
};

/* Takes note of a message; true: it was the last one. */
static bool arrivals_note(struct volley_arrivals *arrivals, uint32_t count, int64_t number,
			  int64_t now_ns)
{
	if (number < arrivals->number)
		return false;
	if (number > arrivals->number || arrivals->count == 0)
		*arrivals = (struct volley_arrivals){ .number = number, .first_ns = now_ns };
	arrivals->last_ns = now_ns;
	return ++arrivals->count == count;
}

/* ------------------------------------------------------------ plain sockets */

/* All of it, or false: the other side is gone, or silent for too long. */
static bool volley_receive(int fd, void *bytes, size_t length)
{
	size_t got = 0;

	while (got < length) {
		ssize_t more = recv(fd, (uint8_t *)bytes + got, length - got, 0);

		if (more <= 0)
			return false;
		got += (size_t)more;
	}
	return true;
}

static void volley_patience(const struct volley *volley, int fd)
{
	struct timeval patience = {
		.tv_sec = volley->patience_ns / NOPAL_SECOND,
		.tv_usec = volley->patience_ns % NOPAL_SECOND / VOLLEY_NS_PER_US,
	};
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	bench_socket_buffers(fd);
}

static void catch_all(int fd, const struct volley *volley)
{
	struct volley_arrivals arrivals = { 0 };
	uint8_t bytes[VOLLEY_MAX_BYTES];
	int64_t number, took_ns;
	bool good;
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);

	/* A message of UDP, which says whom to answer. */
	if (volley->kind == TRIPS_TCP)
		good = volley_receive(fd, bytes, volley->bytes);
	else
		good = recvfrom(fd, bytes, volley->bytes, 0, (struct sockaddr *)&from, &length) ==
			       (ssize_t)volley->bytes &&
		       connect(fd, (struct sockaddr *)&from, length) == 0;
	while (good) {
		memcpy(&number, bytes, sizeof(number));
		if (arrivals_note(&arrivals, volley->count, number, clock_now_ns())) {
			took_ns = arrivals.last_ns - arrivals.first_ns;
			if (send(fd, &took_ns, sizeof(took_ns), MSG_NOSIGNAL) < 0)
				return;
		}
		good = volley_receive(fd, bytes, volley->bytes);
	}
}

/* One volley; false: no answer came. */
static bool throw_one(int fd, struct volley *volley, int64_t number)
{
	uint8_t bytes[VOLLEY_MAX_BYTES] = { 0 };
	int64_t begun_ns = clock_now_ns();

	memcpy(bytes, &number, sizeof(number));
	for (uint32_t i = 0; i < volley->count; i++)
		if (send(fd, bytes, volley->bytes, MSG_NOSIGNAL) != (ssize_t)volley->bytes)
			return false;
	if (!volley_receive(fd, &volley->receiver_ns, sizeof(volley->receiver_ns)))
		return false;
	volley->sender_ns = clock_now_ns() - begun_ns;
	return true;
}

/* ------------------------------------------------------------------ configs */

/* One side of a config's volleys. */
struct volley_side {
	struct volley *volley;
	bool throws;
	struct loop *loop; /* NULL: it is simulated */
	struct nopal_world *world;
	struct loop_event *tick;
	struct nopal_session *session;
	struct volley_arrivals arrivals;
	int64_t number, begun_ns; /* of the volley */
	uint32_t sent;
	bool sending, over;
};

static int64_t side_now(const struct volley_side *side)
{
	return clock_world_ns(side->loop, side->world);
}

static void side_over(struct volley_side *side)
{
	side->over = true;
	if (side->loop)
		loop_stop(side->loop);
}

/* Callbacks may come from within nopal_send(): one at a time. */
static void side_throw(struct volley_side *side)
{
	uint8_t bytes[VOLLEY_MAX_BYTES] = { 0 };

	if (side->sending)
		return;
	side->sending = true;
	memcpy(bytes, &side->number, sizeof(side->number));
	while (side->sent < side->volley->count &&
	       nopal_send(side->session, bytes, side->volley->bytes, 0) == 0)
		side->sent++;
	side->sending = false;
}

static void side_begin(struct volley_side *side)
{
	side->sent = 0;
	side->begun_ns = side_now(side);
	if (side->tick)
		loop_event_start(side->tick, side->volley->patience_ns);
	side_throw(side);
}

static void side_on_opened(struct nopal_session *session, void *user)
{
	struct volley_side *side = user;

	side->session = session;
	if (side->throws)
		side_begin(side);
}

static void *side_on_accepted(struct nopal_session *session, void *user)
{
	(void)session;
	return user;
}

static void side_on_writable(struct nopal_session *session, void *user)
{
	struct volley_side *side = user;

	(void)session;
	if (side->throws)
		side_throw(side);
}

static void side_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct volley_side *side = user;
	int64_t number = 0, took_ns;

	if (side->throws) {
		struct volley *volley = side->volley;

		if (side->over || side->sent < volley->count)
			return;
		nopal_message_copy(message, 0, &volley->receiver_ns, sizeof(volley->receiver_ns));
		volley->sender_ns = side_now(side) - side->begun_ns;
		volley->done = side->number++ == volley->warm;
		if (volley->done)
			side_over(side);
		else
			side_begin(side);
		return;
	}
	nopal_message_copy(message, 0, &number, sizeof(number));
	if (!arrivals_note(&side->arrivals, side->volley->count, number, side_now(side)))
		return;
	took_ns = side->arrivals.last_ns - side->arrivals.first_ns;
	nopal_send(session, &took_ns, sizeof(took_ns), 0);
}

static void side_on_ended(struct nopal_session *session, int end, const char *text, void *user)
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
	.writable = side_on_writable,
	.ended = side_on_ended,
};

static void side_on_tick(void *user)
{
	side_over(user);
}

/* --------------------------------------------------------------------- both */

static void catch_runs(void *user, const struct bench_place *place, int tell)
{
	struct volley *volley = user;

	if (volley->kind == TRIPS_CONFIG) {
		struct volley_side side = { .volley = volley, .loop = loop_new(NULL) };

		if (!side.loop)
			return;
		side.world = loop_world(side.loop);
		if (bench_partner_listen(side.loop, place, volley->plan, &side_callbacks, &side,
					 tell))
			loop_run(side.loop);
	} else {
		bool tcp = volley->kind == TRIPS_TCP;
		uint16_t port = 0;
		int fd = bench_socket_bound(place->address, tcp ? SOCK_STREAM : SOCK_DGRAM, &port);

		if (fd < 0)
			return;
		volley_patience(volley, fd);
		if (tcp && listen(fd, 1))
			return;
		bench_partner_tell(tell, port);
		if (tcp)
			fd = accept(fd, NULL, NULL);
		if (fd >= 0)
			catch_all(fd, volley);
	}
}

bool volley_run(struct volley *volley, const struct bench_place *place)
{
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, place, catch_runs, volley);

	volley->done = false;
	if (good && volley->kind == TRIPS_CONFIG) {
		struct volley_side side = { .volley = volley,
					    .throws = true,
					    .loop = loop_new(NULL) };

		if (side.loop) {
			side.world = loop_world(side.loop);
			side.tick = loop_event_new(side.loop, LOOP_TIMER, -1, side_on_tick, &side);
			if (side.tick)
				loop_event_start(side.tick, volley->patience_ns);
			if (bench_partner_open(side.loop, place, partner.port, volley->plan,
					       &side_callbacks, &side) &&
			    !side.over)
				loop_run(side.loop);
			side.over = true; /* what still arrives is not counted */
			loop_event_free(side.tick);
			loop_free(side.loop);
		}
	} else if (good) {
		bool tcp = volley->kind == TRIPS_TCP;
		int fd = bench_socket_connected(place->address, tcp ? SOCK_STREAM : SOCK_DGRAM,
						partner.port);

		if (fd >= 0) {
			volley_patience(volley, fd);
			volley->done = true;
			for (int i = 0; i <= volley->warm && volley->done; i++)
				volley->done = throw_one(fd, volley, i);
			close(fd);
		}
	}
	bench_partner_end(&partner);
	return good;
}

bool volley_simulate(struct volley *volley, const struct trips_link *link)
{
	struct nopal_world *world = nopal_sim_new(link->seed);
	struct volley_side throws = { .volley = volley, .throws = true, .world = world },
			   catches = { .volley = volley, .world = world };
	struct trips_peers peers = { .plan = volley->plan,
				     .opens = &side_callbacks,
				     .listens = &side_callbacks,
				     .opener = &throws,
				     .listener = &catches };
	bool good = world && trips_peers_open(world, link, &peers);

	volley->done = false;
	while (good && !throws.over && nopal_sim_step(world))
		if (nopal_world_now(world) - throws.begun_ns > volley->patience_ns)
			break;
	throws.over = true;
	nopal_world_free(world);
	return good;
}
