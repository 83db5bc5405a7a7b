/* SPDX-License-Identifier: MIT */
/*
 * sim.c -- the world in virtual time.
 *
 * A step goes to the next instant that has an event and does all of it: first the events that were
 * scheduled for it, in the order of scheduling (packets come out of links and enter the next ones,
 * calls are made); then every endpoint that packets reached gets them all at once; then timers that
 * are due run.  Datagrams that these send at the same instant come in a later step.
 *
 * Nothing here reads a clock, and nothing depends on addresses in memory: the same seed and the
 * same calls give the same run on every machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/sim/sim.h"
#include "base/vector.h"
#include "io/sim/random.h"
#include "session/endpoint_sessions.h"

enum {
	SIM_STREAM_WORLD = 0,	     /* links have the streams from 1 */
	SIM_FIRST_FREE_PORT = 49152, /* RFC 6335: dynamic ports */
	SIM_PORT_BITS = 16,
};

/* ------------------------------------------------------------------- ports */

static uint64_t sim_port_key(uint32_t host, uint16_t number)
{
	return (uint64_t)host << SIM_PORT_BITS | number;
}

bool nopal__sim_port_is_taken(const struct sim *sim, uint32_t host, uint16_t number)
{
	return nopal_map_get(&sim->ports, sim_port_key(host, number)) != NULL;
}

struct sim_port *nopal__sim_port_new(struct sim *sim, uint32_t host, uint16_t number)
{
	struct sim_port *port = calloc(1, sizeof(*port));

	if (!port || nopal_map_put(NULL, &sim->ports, sim_port_key(host, number), port) < 0) {
		free(port);
		return NULL;
	}
	port->host = host;
	port->number = number;
	return port;
}

/* At the host of the address, and a free port where none is given. */
static int sim_port_open(struct nopal_world *world, struct nopal_endpoint *endpoint,
			 struct nopal_problems *problems)
{
	struct sim *sim = sim_of(world);
	struct nopal_port *face = nopal__endpoint_port(endpoint);
	struct nopal_address local = face->local;
	uint32_t host = nopal__sim_host_of(sim, &local);
	struct sim_port *port;

	if (nopal_address_is_multicast(&local))
		return nopal__sim_multicast_open(sim, endpoint);
	if (host == SIM_NONE) {
		nopal_problems_add(problems, NULL, 0, "add a host first",
				   "no such host in the simulation");
		return -EADDRNOTAVAIL;
	}
	for (uint32_t number = SIM_FIRST_FREE_PORT; !local.port && number <= UINT16_MAX; number++)
		if (!nopal__sim_port_is_taken(sim, host, (uint16_t)number))
			local.port = (uint16_t)number;
	if (local.port == 0 || nopal__sim_port_is_taken(sim, host, local.port)) {
		nopal_problems_add(problems, NULL, 0, "choose another port, or 0",
				   "the port is in use on this host");
		return -EADDRINUSE;
	}
	port = nopal__sim_port_new(sim, host, local.port);
	if (!port)
		return -ENOMEM;
	port->endpoint = endpoint;
	face->local = local;
	face->handle = port;
	return 0;
}

static void sim_port_free(struct sim_port *port)
{
	for (uint32_t i = 0; i < port->count; i++)
		nopal_buffer_unref(port->arrivals[i].buffer);
	free(port->arrivals);
	free(port);
}

/* A port with arrivals of this instant goes after they are given back: its owner may be the one
 * that is reading them. */
void nopal__sim_port_close(struct sim *sim, struct sim_port *port)
{
	struct sim_port **at = &sim->multicasts;
	uint64_t key = sim_port_key(port->host, port->number);

	if (nopal_map_get(&sim->ports, key) == port) {
		nopal_map_take(&sim->ports, key);
	} else {
		while (*at != port)
			at = &(*at)->next;
		*at = port->next;
	}
	port->endpoint = NULL;
	port->socket = NULL;
	if (!port->ready)
		sim_port_free(port);
}

static void sim_endpoint_close(struct nopal_world *world, struct nopal_endpoint *endpoint)
{
	struct nopal_port *face = nopal__endpoint_port(endpoint);

	if (face->handle)
		nopal__sim_port_close(sim_of(world), face->handle);
	face->handle = NULL;
}

/* --------------------------------------------------------------- arrivals */

void nopal__sim_port_put(struct sim *sim, struct sim_port *port, struct sim_packet *packet)
{
	if (!nopal__vector_room(&port->arrivals, &port->room, port->count + 1,
				sizeof(*port->arrivals)) ||
	    !nopal__vector_room(&sim->ready, &sim->ready_room, sim->ready_count + 1,
				sizeof(struct sim_port *))) {
		nopal__sim_packet_drop(packet);
		return;
	}
	port->arrivals[port->count++] = (struct nopal_arrival){
		.from = packet->from,
		.buffer = &packet->buffer,
		.bytes = packet->bytes,
		.length = packet->length,
		.ecn = packet->ecn,
	};
	if (!port->ready) {
		port->ready = true;
		sim->ready[sim->ready_count++] = port;
	}
}

/* ---------------------------------------------------------------- the path */

void nopal__sim_pass(struct sim *sim, uint32_t index, struct sim_packet *packet)
{
	struct nopal__link_copy out[NOPAL__LINK_COPIES];
	struct sim_packet *copies[NOPAL__LINK_COPIES] = { packet };
	const struct nopal__link_packet in = { .length = packet->length,
					       .fragments = packet->fragments,
					       .ecn = packet->ecn };
	unsigned count = nopal__link_carry(&sim->links[index].engine, &in, sim->world.now_ns, out);

	if (count == 0)
		nopal__sim_packet_drop(packet);
	for (unsigned i = 1; i < count; i++)
		copies[i] = nopal__sim_packet_copy(sim->pool, packet);
	for (unsigned i = 0; i < count && copies[i]; i++) {
		if (out[i].corrupt)
			nopal__link_flip(copies[i]->bytes, copies[i]->length, out[i].bit);
		copies[i]->ecn = out[i].ecn;
		if (!nopal__sim_link_put(sim, index, out[i].at_ns, copies[i]))
			nopal__sim_packet_drop(copies[i]);
	}
}

static void sim_packet_at(struct sim *sim, uint32_t node, struct sim_packet *packet)
{
	struct sim_port *port;
	uint32_t link;

	if (packet->to_host == SIM_NONE) {
		nopal__sim_multicast_at(sim, node, packet);
		return;
	}
	if (node != sim->hosts[packet->to_host]) {
		link = nopal__sim_route(sim, node, packet->to_host);
		if (link == SIM_NONE)
			nopal__sim_packet_drop(packet);
		else
			nopal__sim_pass(sim, link, packet);
		return;
	}
	if (nopal_address_is_multicast(&packet->multicast))
		port = nopal__sim_multicast_port(sim, packet);
	else
		port = nopal_map_get(&sim->ports, sim_port_key(packet->to_host, packet->to_port));
	if (port)
		nopal__sim_port_put(sim, port, packet);
	else
		nopal__sim_packet_drop(packet);
}

/* Packets that a host sends itself do not touch a link. */
static bool sim_loop_back(struct sim *sim, struct sim_packet *packet)
{
	return nopal__heap_push(&sim->heap,
				&(struct nopal__event){ .time_ns = sim->world.now_ns,
							.order = sim->order++,
							.kind = SIM_PACKET,
							.where = sim->hosts[packet->to_host],
							.packet = packet });
}

/* From the port's address as the network sees it, of the family of the destination. */
static bool sim_datagram_leave(struct sim *sim, uint32_t link, const struct sim_port *port,
			       struct nopal_address from, const struct nopal_train *train,
			       uint32_t at, uint32_t length)
{
	struct sim_packet *packet;

	from.port = port->number;
	if (nopal_address_is_v4(&from) && !nopal_address_is_v4(train->to))
		nopal__sim_address6((int)port->host, from.port, &from);
	else if (!nopal_address_is_v4(&from) && nopal_address_is_v4(train->to))
		nopal_sim_address((int)port->host, from.port, &from);
	if (sim->tap)
		sim->tap(sim->tap_user, sim->world.now_ns, &from, train->to, train->bytes + at,
			 length);
	packet = nopal__sim_packet_new(sim->pool, train->bytes + at, length);
	if (!packet)
		return false;
	packet->from = from;
	packet->to_host = nopal__sim_host_of(sim, train->to);
	packet->to_port = train->to->port;
	packet->fragments = train->fragments;
	packet->ecn = train->ecn;
	packet->multicast = *train->to; /* where there is no such host */
	if (packet->to_host == SIM_NONE)
		nopal__sim_multicast_at(sim, sim->hosts[port->host], packet);
	else if (link != SIM_NONE)
		nopal__sim_pass(sim, link, packet);
	else if (!sim_loop_back(sim, packet))
		nopal__sim_packet_drop(packet);
	return true;
}

enum nopal_transmitted nopal__sim_leave(struct sim *sim, const struct sim_port *port,
					const struct nopal_address *local,
					const struct nopal_train *train)
{
	uint32_t host = nopal__sim_host_of(sim, train->to);
	uint32_t stride = train->stride ? train->stride : train->length;
	uint32_t link = SIM_NONE, at = 0, length = train->length;

	if (host == SIM_NONE && !nopal_address_is_multicast(train->to))
		return NOPAL_UNSENT;
	if (host != SIM_NONE)
		link = nopal__sim_route(sim, sim->hosts[port->host], host);
	if (host != SIM_NONE && link == SIM_NONE && host != port->host)
		return NOPAL_UNSENT;
	if (length > stride)
		length = stride;
	if (link != SIM_NONE && !train->fragments &&
	    !nopal__link_fits(&sim->links[link].engine, length))
		return NOPAL_TOO_BIG;
	do {
		if (length > train->length - at)
			length = train->length - at;
		if (!sim_datagram_leave(sim, link, port, *local, train, at, length))
			return NOPAL_UNSENT;
		at += length;
	} while (at < train->length);
	return NOPAL_TRANSMITTED;
}

static enum nopal_transmitted sim_transmit(struct nopal_world *world,
					   struct nopal_endpoint *endpoint,
					   const struct nopal_train *train)
{
	const struct nopal_port *face = nopal__endpoint_port(endpoint);

	if (!face->handle)
		return NOPAL_UNSENT;
	return nopal__sim_leave(sim_of(world), face->handle, &face->local, train);
}

/* -------------------------------------------------------------------- time */

int64_t nopal_sim_next(const struct nopal_world *world)
{
	const struct sim *sim = (const struct sim *)world;
	int64_t next_ns = nopal__world_next(world);

	if (sim->heap.count && sim->heap.events[0].time_ns < next_ns)
		next_ns = sim->heap.events[0].time_ns;
	return next_ns < world->now_ns ? world->now_ns : next_ns;
}

/* All events of `instant_ns`, which is the next; then the ports give the arrivals of this instant
 * to their endpoints. */
static void sim_go(struct sim *sim, int64_t instant_ns)
{
	struct nopal_world *world = &sim->world;

	world->now_ns = instant_ns;
	while (sim->heap.count && sim->heap.events[0].time_ns <= instant_ns) {
		struct nopal__event event = sim->heap.events[0];

		if (event.kind == SIM_LINK) {
			event.packet = nopal__sim_link_take(sim, event.where);
			event.where = sim->links[event.where].to;
		} else {
			nopal__heap_pop(&sim->heap);
		}
		if (event.kind == SIM_CALL)
			event.call(event.user);
		else
			sim_packet_at(sim, event.where, event.packet);
	}
	for (uint32_t ready = 0; ready < sim->ready_count; ready++) {
		struct sim_port *port = sim->ready[ready];

		if (port->endpoint)
			nopal__endpoint_receive(port->endpoint, port->arrivals, port->count);
		else if (port->socket)
			nopal__sim_socket_receive(sim, port);
		for (uint32_t i = 0; i < port->count; i++)
			nopal_buffer_unref(port->arrivals[i].buffer);
		port->count = 0;
		port->ready = false;
		if (!port->endpoint && !port->socket)
			sim_port_free(port);
	}
	sim->ready_count = 0;
	if (nopal__world_next(world) <= instant_ns)
		nopal__world_wake(world);
}

bool nopal_sim_step(struct nopal_world *world)
{
	int64_t next_ns = nopal_sim_next(world);

	if (next_ns == NOPAL_NEVER)
		return false;
	sim_go(sim_of(world), next_ns);
	return true;
}

int nopal_sim_run(struct nopal_world *world, int64_t until_ns)
{
	int64_t next_ns = nopal_sim_next(world);

	for (; next_ns <= until_ns && next_ns != NOPAL_NEVER; next_ns = nopal_sim_next(world))
		sim_go(sim_of(world), next_ns);
	if (next_ns == NOPAL_NEVER)
		return 1;
	if (until_ns > world->now_ns)
		world->now_ns = until_ns;
	return 0;
}

int nopal_sim_at(struct nopal_world *world, int64_t time_ns, void (*call)(void *user), void *user)
{
	struct sim *sim = sim_of(world);
	const struct nopal__event event = { .time_ns = time_ns,
					    .order = sim->order++,
					    .kind = SIM_CALL,
					    .call = call,
					    .user = user };

	return nopal__heap_push(&sim->heap, &event) ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------- the outside */

struct nopal_endpoint *nopal_sim_endpoint(struct nopal_world *world, int host, uint16_t port)
{
	struct nopal_address local;

	nopal_sim_address(host, port, &local);
	return nopal_endpoint_open(world, &local, NULL);
}

/* The datagram arrives in the next step, at the present time. */
void nopal_sim_inject(struct nopal_world *world, struct nopal_endpoint *endpoint,
		      const struct nopal_address *from, const void *bytes, size_t length)
{
	struct sim *sim = sim_of(world);
	const struct sim_port *port = nopal__endpoint_port(endpoint)->handle;
	struct sim_packet *packet;

	if (!port || length > UINT16_MAX)
		return;
	packet = nopal__sim_packet_new(sim->pool, bytes, (uint32_t)length);
	if (!packet)
		return;
	packet->from = *from;
	packet->to_host = port->host;
	packet->to_port = port->number;
	packet->multicast = nopal__endpoint_port(endpoint)->local;
	if (!sim_loop_back(sim, packet))
		nopal__sim_packet_drop(packet);
}

void nopal_sim_tap(struct nopal_world *world,
		   void (*tap)(void *user, int64_t now_ns, const struct nopal_address *from,
			       const struct nopal_address *to, const uint8_t *bytes, size_t length),
		   void *user)
{
	sim_of(world)->tap = tap;
	sim_of(world)->tap_user = user;
}

/* --------------------------------------------------------------- the world */

static int64_t sim_clock(struct nopal_world *world)
{
	return world->now_ns;
}

static uint64_t sim_random(struct nopal_world *world)
{
	return nopal__random_next(&sim_of(world)->random);
}

/* From the seed, as all here. */
static void sim_random_bytes(struct nopal_world *world, void *bytes, size_t length)
{
	uint8_t *at = bytes;

	for (; length; length--)
		*at++ = (uint8_t)sim_random(world);
}

/* Steps ask the core for its next wake-up themselves. */
static void sim_wake_at(struct nopal_world *world, int64_t time_ns)
{
	(void)world;
	(void)time_ns;
}

static const char *sim_transport(struct nopal_endpoint *endpoint)
{
	(void)endpoint;
	return "simulated";
}

static void sim_free(struct nopal_world *world)
{
	struct sim *sim = sim_of(world);

	while (sim->sockets)
		nopal_sim_socket_close(sim->sockets);
	nopal__world_fini(world);
	nopal__sim_drop_all(sim);
	nopal__sim_topology_free(sim);
	nopal__sim_pool_close(sim->pool);
	free(sim->heap.events);
	nopal_free(NULL, sim->ports.slots);
	free(sim->ready);
	free(sim);
}

static const struct nopal_world_ops sim_ops = {
	.name = "sim",
	.clock = sim_clock,
	.random = sim_random,
	.random_bytes = sim_random_bytes,
	.port_open = sim_port_open,
	.port_close = sim_endpoint_close,
	.transmit = sim_transmit,
	.wake_at = sim_wake_at,
	.transport = sim_transport,
	.free = sim_free,
};

struct nopal_world *nopal_sim_new(uint64_t seed)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	if (sim)
		sim->pool = calloc(1, sizeof(*sim->pool));
	if (!sim || !sim->pool) {
		free(sim);
		return NULL;
	}
	sim->seed = seed;
	sim->random = nopal__random_seed(seed, SIM_STREAM_WORLD);
	nopal__world_init(&sim->world, &sim_ops);
	return &sim->world;
}
