/* SPDX-License-Identifier: MIT */
/*
 * burst.c -- many messages one way and one answer when all are there.
 *
 * Every message begins with the number of its burst, so that what is late is not counted for the
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
#include "load/burst.h"

enum { BURST_NS_PER_US = 1000 };

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

/* All of it, or false: the other side is gone, or silent for too long. */
static bool burst_receive(int fd, void *bytes, size_t length)
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

static void burst_patience(const struct burst *burst, int fd)
{
	struct timeval patience = {
		.tv_sec = burst->patience_ns / NOPAL_SECOND,
		.tv_usec = burst->patience_ns % NOPAL_SECOND / BURST_NS_PER_US,
	};
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	bench_socket_buffers(fd);
}

static void catch_all(int fd, const struct burst *burst)
{
	struct burst_arrivals arrivals = { 0 };
	uint8_t bytes[BURST_MAX_BYTES];
	int64_t number, took_ns;
	bool good;
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);

	/* A message of UDP, which says whom to answer. */
	if (burst->kind == ROUND_TRIPS_TCP)
		good = burst_receive(fd, bytes, burst->bytes);
	else
		good = recvfrom(fd, bytes, burst->bytes, 0, (struct sockaddr *)&from, &length) ==
			       (ssize_t)burst->bytes &&
		       connect(fd, (struct sockaddr *)&from, length) == 0;
	while (good) {
		memcpy(&number, bytes, sizeof(number));
		if (arrivals_note(&arrivals, burst->count, number, clock_now_ns())) {
			took_ns = arrivals.last_ns - arrivals.first_ns;
			if (send(fd, &took_ns, sizeof(took_ns), MSG_NOSIGNAL) < 0)
				return;
		}
		good = burst_receive(fd, bytes, burst->bytes);
	}
}

/* One burst; false: no answer came. */
static bool throw_one(int fd, struct burst *burst, int64_t number)
{
	uint8_t bytes[BURST_MAX_BYTES] = { 0 };
	int64_t begun_ns = clock_now_ns();

	memcpy(bytes, &number, sizeof(number));
	for (uint32_t i = 0; i < burst->count; i++)
		if (send(fd, bytes, burst->bytes, MSG_NOSIGNAL) != (ssize_t)burst->bytes)
			return false;
	if (!burst_receive(fd, &burst->receiver_ns, sizeof(burst->receiver_ns)))
		return false;
	burst->sender_ns = clock_now_ns() - begun_ns;
	return true;
}

/* ------------------------------------------------------------------ configs */

/* One side of a config's bursts. */
struct burst_side {
	struct burst *burst;
	bool throws;
	struct loop *loop; /* NULL: it is simulated */
	struct nopal_world *world;
	struct loop_event *tick;
	struct nopal_session *session;
	struct burst_arrivals arrivals;
	int64_t number, begun_ns; /* of the burst */
	uint32_t sent;
	bool sending, over;
};

static int64_t side_now(const struct burst_side *side)
{
	return clock_world_ns(side->loop, side->world);
}

static void side_over(struct burst_side *side)
{
	side->over = true;
	if (side->loop)
		loop_stop(side->loop);
}

/* Callbacks may come from within nopal_send(): one at a time. */
static void side_throw(struct burst_side *side)
{
	uint8_t bytes[BURST_MAX_BYTES] = { 0 };

	if (side->sending)
		return;
	side->sending = true;
	memcpy(bytes, &side->number, sizeof(side->number));
	while (side->sent < side->burst->count &&
	       nopal_send(side->session, bytes, side->burst->bytes, 0) == 0)
		side->sent++;
	side->sending = false;
}

static void side_begin(struct burst_side *side)
{
	side->sent = 0;
	side->begun_ns = side_now(side);
	if (side->tick)
		loop_event_start(side->tick, side->burst->patience_ns);
	side_throw(side);
}

static void side_on_opened(struct nopal_session *session, void *user)
{
	struct burst_side *side = user;

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
	struct burst_side *side = user;

	(void)session;
	if (side->throws)
		side_throw(side);
}

static void side_on_received(struct nopal_session *session, struct nopal_message *message,
			     void *user)
{
	struct burst_side *side = user;
	int64_t number = 0, took_ns;

	if (side->throws) {
		struct burst *burst = side->burst;

		if (side->over || side->sent < burst->count)
			return;
		nopal_message_copy(message, 0, &burst->receiver_ns, sizeof(burst->receiver_ns));
		burst->sender_ns = side_now(side) - side->begun_ns;
		burst->done = side->number++ == burst->warm;
		if (burst->done)
			side_over(side);
		else
			side_begin(side);
		return;
	}
	nopal_message_copy(message, 0, &number, sizeof(number));
	if (!arrivals_note(&side->arrivals, side->burst->count, number, side_now(side)))
		return;
	took_ns = side->arrivals.last_ns - side->arrivals.first_ns;
	nopal_send(session, &took_ns, sizeof(took_ns), 0);
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
	struct burst *burst = user;

	if (burst->kind == ROUND_TRIPS_CONFIG) {
		struct burst_side side = { .burst = burst, .loop = loop_new(NULL) };

		if (!side.loop)
			return;
		side.world = loop_world(side.loop);
		if (bench_partner_listen(side.loop, place, burst->plan, &side_callbacks, &side,
					 tell))
			loop_run(side.loop);
	} else {
		bool tcp = burst->kind == ROUND_TRIPS_TCP;
		uint16_t port = 0;
		int fd = bench_socket_bound(place->address, tcp ? SOCK_STREAM : SOCK_DGRAM, &port);

		if (fd < 0)
			return;
		burst_patience(burst, fd);
		if (tcp && listen(fd, 1))
			return;
		bench_partner_tell(tell, port);
		if (tcp)
			fd = accept(fd, NULL, NULL);
		if (fd >= 0)
			catch_all(fd, burst);
	}
}

bool burst_run(struct burst *burst, const struct bench_place *place)
{
	struct bench_partner partner;
	bool good = bench_partner_start(&partner, place, catch_runs, burst);

	burst->done = false;
	if (good && burst->kind == ROUND_TRIPS_CONFIG) {
		struct burst_side side = { .burst = burst, .throws = true, .loop = loop_new(NULL) };

		if (side.loop) {
			side.world = loop_world(side.loop);
			side.tick = loop_event_new(side.loop, LOOP_TIMER, -1, side_on_tick, &side);
			if (side.tick)
				loop_event_start(side.tick, burst->patience_ns);
			if (bench_partner_open(side.loop, place, partner.port, burst->plan,
					       &side_callbacks, &side) &&
			    !side.over)
				loop_run(side.loop);
			side.over = true; /* what still arrives is not counted */
			loop_event_free(side.tick);
			loop_free(side.loop);
		}
	} else if (good) {
		bool tcp = burst->kind == ROUND_TRIPS_TCP;
		int fd = bench_socket_connected(place->address, tcp ? SOCK_STREAM : SOCK_DGRAM,
						partner.port);

		if (fd >= 0) {
			burst_patience(burst, fd);
			burst->done = true;
			for (int i = 0; i <= burst->warm && burst->done; i++)
				burst->done = throw_one(fd, burst, i);
			close(fd);
		}
	}
	bench_partner_end(&partner);
	return good;
}

bool burst_simulate(struct burst *burst, const struct round_trips_link *link)
{
	struct nopal_world *world = nopal_sim_new(link->seed);
	struct burst_side throws = { .burst = burst, .throws = true, .world = world },
			  catches = { .burst = burst, .world = world };
	struct round_trips_peers peers = { .plan = burst->plan,
					   .opens = &side_callbacks,
					   .listens = &side_callbacks,
					   .opener = &throws,
					   .listener = &catches };
	bool good = world && round_trips_peers_open(world, link, &peers);

	burst->done = false;
	while (good && !throws.over && nopal_sim_step(world))
		if (nopal_world_now(world) - throws.begun_ns > burst->patience_ns)
			break;
	throws.over = true;
	nopal_world_free(world);
	return good;
}
