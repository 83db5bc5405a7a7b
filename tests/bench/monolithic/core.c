/* SPDX-License-Identifier: MIT */
/*
 * core.c -- endpoints, turns and timers of the monolith: what stands between a world and its
 * connections.
 */
#include <errno.h>
#include <stdlib.h>

#include "session/endpoint_sessions.h"
#include "connection.h"
#include <nopal/microprotocol.h>

/* All of the process: the worlds ask whose an endpoint is. */
static struct monolith_endpoint *endpoints;

bool monolith__owns(const struct nopal_endpoint *endpoint)
{
	const struct monolith_endpoint *ours = endpoints;

	while (ours && (const void *)ours != (const void *)endpoint)
		ours = ours->next;
	return ours != NULL;
}

/* ---------------------------------------------------------------------- turns */

void monolith__touch(struct monolith_connection *connection)
{
	struct monolith_endpoint *endpoint = connection->endpoint;

	connection->now_ns = endpoint->port.world->now_ns;
	if (connection->touched)
		return;
	connection->touched = true;
	connection->next_touched = endpoint->touched;
	endpoint->touched = connection;
}

static bool turn_begin(struct monolith_endpoint *endpoint)
{
	struct nopal_world *world = endpoint->port.world;

	if (endpoint->in_turn)
		return false;
	endpoint->in_turn = true;
	if (!world->in_core)
		world->now_ns = world->ops->clock(world);
	return true;
}

static void connection_free(struct monolith_connection *connection)
{
	struct monolith_endpoint *endpoint = connection->endpoint;
	struct monolith_connection **at = &endpoint->connections;

	if (endpoint->train_of == connection) {
		monolith__flush(endpoint);
		endpoint->train_of = NULL;
	}
	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	if (endpoint->latest == connection)
		endpoint->latest = NULL;
	endpoint->port.counters.sessions--;
	monolith__sender_free(connection);
	monolith__receiver_free(connection);
	free(connection);
}

static void tell_writable(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;

	if (!sender->blocked || connection->life != MONOLITH_LIFE_OPEN ||
	    sender->unfinished_bytes >= connection->setup->send_bytes)
		return;
	sender->blocked = false;
	if (connection->callbacks->writable)
		connection->callbacks->writable(connection, connection->user);
}

static void connection_turn_end(struct monolith_connection *connection)
{
	if (connection->life == MONOLITH_LIFE_OPENING)
		return;
	monolith__sender_pump(connection);
	monolith__receiver_turn_end(connection);
	if (connection->alive_asked) {
		connection->alive_asked = false;
		if (monolith__control_begin(connection, 0))
			monolith__control_end(connection, MONOLITH_ALIVE_ANSWER, 0);
	}
	tell_writable(connection);
}

/* A callback may touch a connection again: round until none is. */
static void turn_end(struct monolith_endpoint *endpoint)
{
	struct nopal_world *world = endpoint->port.world;
	struct monolith_connection *connection;

	while ((connection = endpoint->touched)) {
		endpoint->touched = connection->next_touched;
		connection->touched = false;
		if (connection->life != MONOLITH_LIFE_ENDED)
			connection_turn_end(connection);
		if (connection->life != MONOLITH_LIFE_ENDED || connection->touched)
			continue;
		if (connection->callbacks->ended)
			connection->callbacks->ended(connection, connection->end,
						     connection->end_text, connection->user);
		connection_free(connection);
	}
	monolith__flush(endpoint);
	endpoint->in_turn = false;
	world->ops->wake_at(world, endpoint->next_ns);
}

/* Freed at the end of the turn, which it touches. */
void monolith__end(struct monolith_connection *connection, enum nopal_end end, const char *text)
{
	if (connection->life == MONOLITH_LIFE_ENDED)
		return;
	connection->life = MONOLITH_LIFE_ENDED;
	connection->end = end;
	connection->end_text = text;
	monolith__touch(connection);
}

/* ------------------------------------------------------------------- datagrams */

static void control_receive(struct monolith_connection *connection, enum monolith_kind kind,
			    const uint8_t *body, uint32_t length)
{
	switch ((unsigned)kind) {
	case MONOLITH_ACK:
		monolith__ack_receive(connection, body, length);
		break;
	case MONOLITH_WINDOW:
		monolith__window_receive(connection, body, length);
		break;
	case MONOLITH_WINDOW_PROBE:
		monolith__window_asked(connection, body, length);
		break;
	case MONOLITH_ALIVE_PROBE:
		connection->alive_asked |= length == 0;
		break;
	case MONOLITH_ABORT:
		monolith__end(connection, NOPAL_ABORTED, "the peer aborted the session");
		break;
	default:
		break;
	}
}

static void established_receive(struct monolith_connection *connection, enum monolith_kind kind,
				const uint8_t *bytes, uint32_t length)
{
	uint32_t trailer = connection->setup->trailer_bytes;

	connection->counters.datagrams_in++;
	if (length < MONOLITH_HEAD + trailer) {
		connection->counters.malformed++;
		return;
	}
	length -= trailer;
	if (trailer && nopal__crc32c(bytes, length) != monolith_get32(bytes + length)) {
		connection->counters.sealed_badly++;
		return;
	}
	bytes += MONOLITH_HEAD;
	length -= MONOLITH_HEAD;
	if (kind >= MONOLITH_ACCEPT && kind <= MONOLITH_CLOSE_ACK)
		monolith__handshake_receive(connection, kind, bytes, length);
	else if (kind == MONOLITH_ABORT || monolith__confirm(connection))
		control_receive(connection, kind, bytes, length);
}

static struct monolith_connection *connection_find(struct monolith_endpoint *endpoint,
						   const struct nopal_address *from, uint32_t id)
{
	struct monolith_connection *connection = endpoint->latest;

	if (!connection || connection->local_id != id) {
		connection = endpoint->connections;
		while (connection && connection->local_id != id)
			connection = connection->next;
	}
	if (!connection || connection->life == MONOLITH_LIFE_ENDED ||
	    !nopal_address_equal(&connection->peer, from)) {
		endpoint->port.counters.unknown_session++;
		return NULL;
	}
	endpoint->latest = connection;
	return connection;
}

/* The datagram at `at`, or the run of data that begins there; where the next stands. */
static uint32_t datagram_receive(struct monolith_endpoint *endpoint,
				 const struct nopal_arrival *arrival, uint32_t at, uint32_t stride)
{
	const uint8_t *bytes = arrival->bytes + at;
	uint32_t length = arrival->length - at;
	struct monolith_connection *connection;
	enum monolith_kind kind;

	if (length > stride)
		length = stride;
	if (length < MONOLITH_HEAD || (bytes[0] & ~MONOLITH_KIND_MASK) != MONOLITH_VERSION_BITS) {
		endpoint->port.counters.malformed++;
		return at + stride;
	}
	kind = bytes[0] & MONOLITH_KIND_MASK;
	if (kind == MONOLITH_CONNECT) {
		monolith__connect_receive(endpoint, &arrival->from, bytes, length);
		return at + stride;
	}
	connection = connection_find(endpoint, &arrival->from, monolith_get32(bytes + 1));
	if (!connection)
		return at + stride;
	monolith__touch(connection);
	connection->heard_ns = connection->now_ns;
	if (kind == MONOLITH_DATA)
		return monolith__data_receive(connection, arrival, at, stride);
	if (kind == MONOLITH_REPLY)
		monolith__reply_receive(connection, bytes, length);
	else
		established_receive(connection, kind, bytes, length);
	return at + stride;
}

void monolith__receive(struct monolith_endpoint *endpoint, const struct nopal_arrival *arrivals,
		       size_t count)
{
	endpoint->in_turn = true;
	endpoint->port.counters.batches_in++;
	for (size_t i = 0; i < count; i++) {
		const struct nopal_arrival *arrival = &arrivals[i];
		uint32_t stride = arrival->stride ? arrival->stride : arrival->length;
		uint32_t at = 0;

		do
			at = datagram_receive(endpoint, arrival, at, stride);
		while (at < arrival->length);
	}
	turn_end(endpoint);
}

void monolith__writable(struct monolith_endpoint *endpoint)
{
	endpoint->in_turn = true;
	endpoint->busy = false;
	monolith__flush(endpoint);
	for (struct monolith_connection *connection = endpoint->connections; connection;
	     connection = connection->next)
		monolith__touch(connection);
	turn_end(endpoint);
}

/* --------------------------------------------------------------------- timers */

/* The next look: when a probe is due, and never after the end of patience. */
static void alive_check(struct monolith_connection *connection)
{
	const struct monolith_setup *setup = connection->setup;
	int64_t step_ns =
		(setup->alive_timeout_ns - setup->alive_interval_ns) / setup->alive_probes;
	int64_t last_ns = connection->heard_ns + setup->alive_timeout_ns;
	int64_t next_ns = connection->now_ns + step_ns;

	if (connection->now_ns >= last_ns) {
		monolith__end(connection, NOPAL_PEER_LOST, "nothing was heard from the peer");
		return;
	}
	if (connection->now_ns < connection->heard_ns + setup->alive_interval_ns)
		next_ns = connection->heard_ns + setup->alive_interval_ns;
	else if (monolith__control_begin(connection, 0))
		monolith__control_end(connection, MONOLITH_ALIVE_PROBE, 0);
	monolith__start(connection, MONOLITH_CHECK, next_ns < last_ns ? next_ns : last_ns);
}

static void timer_run(struct monolith_connection *connection, enum monolith_timer timer)
{
	switch (timer) {
	case MONOLITH_STATUS:
		monolith__sender_status(connection);
		break;
	case MONOLITH_JUDGE:
		monolith__judge(connection);
		break;
	case MONOLITH_DELAY:
		if (connection->receiver.unacked)
			monolith__ack_send(connection);
		break;
	case MONOLITH_PROBE:
		monolith__sender_probe(connection);
		break;
	case MONOLITH_CHECK:
		alive_check(connection);
		break;
	case MONOLITH_OPENING:
	case MONOLITH_CLOSING:
	case MONOLITH_LINGER:
	case MONOLITH_TIMERS:
		monolith__handshake_timer(connection, timer);
		break;
	}
}

static void timers_run(struct monolith_connection *connection)
{
	for (unsigned timer = 0; timer < MONOLITH_TIMERS; timer++) {
		int64_t when_ns = connection->deadline_ns[timer];

		if (when_ns > connection->endpoint->port.world->now_ns)
			continue;
		monolith__touch(connection);
		connection->deadline_ns[timer] = NOPAL_NEVER;
		if (connection->life != MONOLITH_LIFE_ENDED)
			timer_run(connection, timer);
	}
}

static void endpoint_wake(struct monolith_endpoint *endpoint)
{
	endpoint->in_turn = true;
	for (struct monolith_connection *connection = endpoint->connections; connection;
	     connection = connection->next)
		timers_run(connection);
	endpoint->next_ns = NOPAL_NEVER;
	for (struct monolith_connection *connection = endpoint->connections; connection;
	     connection = connection->next)
		for (unsigned timer = 0; timer < MONOLITH_TIMERS; timer++)
			if (connection->deadline_ns[timer] < endpoint->next_ns)
				endpoint->next_ns = connection->deadline_ns[timer];
	turn_end(endpoint);
}

void monolith__wake(struct nopal_world *world)
{
	for (struct monolith_endpoint *endpoint = endpoints, *next; endpoint; endpoint = next) {
		next = endpoint->next;
		if (endpoint->port.world == world && endpoint->next_ns <= world->now_ns)
			endpoint_wake(endpoint);
	}
}

int64_t monolith__next(const struct nopal_world *world)
{
	int64_t next_ns = NOPAL_NEVER;

	for (const struct monolith_endpoint *endpoint = endpoints; endpoint;
	     endpoint = endpoint->next)
		if (endpoint->port.world == world && endpoint->next_ns < next_ns)
			next_ns = endpoint->next_ns;
	return next_ns;
}

/* ------------------------------------------------------------ the application */

struct monolith_endpoint *monolith_endpoint_open(struct nopal_world *world,
						 const struct nopal_address *local,
						 const struct monolith_setup *setup,
						 struct nopal_problems *problems)
{
	struct monolith_endpoint *endpoint = calloc(1, sizeof(*endpoint));

	if (!endpoint)
		return NULL;
	endpoint->port.world = world;
	endpoint->port.local = *local;
	endpoint->setup = setup;
	endpoint->next_ns = NOPAL_NEVER;
	endpoint->secret[0] = world->ops->random(world);
	endpoint->secret[1] = world->ops->random(world);
	endpoint->next = endpoints;
	endpoints = endpoint;
	if (world->ops->port_open(world, (struct nopal_endpoint *)(void *)endpoint, problems) < 0) {
		endpoints = endpoint->next;
		free(endpoint);
		return NULL;
	}
	return endpoint;
}

void monolith__fini(struct nopal_world *world)
{
	struct monolith_endpoint **at = &endpoints;

	while (*at) {
		struct monolith_endpoint *endpoint = *at;

		if (endpoint->port.world != world) {
			at = &endpoint->next;
			continue;
		}
		while (endpoint->connections)
			connection_free(endpoint->connections);
		world->ops->port_close(world, (struct nopal_endpoint *)(void *)endpoint);
		*at = endpoint->next;
		free(endpoint);
	}
}

void monolith_listen(struct monolith_endpoint *endpoint, const struct monolith_callbacks *callbacks,
		     void *user)
{
	endpoint->callbacks = callbacks;
	endpoint->user = user;
}

void monolith_endpoint_local(const struct monolith_endpoint *endpoint,
			     struct nopal_address *ret_address)
{
	*ret_address = endpoint->port.local;
}

struct monolith_connection *monolith__connection_new(struct monolith_endpoint *endpoint,
						     const struct nopal_address *peer, bool opener)
{
	struct nopal_world *world = endpoint->port.world;
	struct monolith_connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->endpoint = endpoint;
	connection->setup = endpoint->setup;
	connection->peer = *peer;
	connection->opener = opener;
	for (unsigned timer = 0; timer < MONOLITH_TIMERS; timer++)
		connection->deadline_ns[timer] = NOPAL_NEVER;
	while (!connection->local_id)
		connection->local_id = (uint32_t)world->ops->random(world);
	connection->data_head[0] = MONOLITH_VERSION_BITS | MONOLITH_DATA;
	monolith_put32(connection->data_head + 1, connection->local_id);
	connection->next = endpoint->connections;
	endpoint->connections = connection;
	endpoint->port.counters.sessions++;
	return connection;
}

struct monolith_connection *monolith_open(struct monolith_endpoint *endpoint,
					  const struct nopal_address *peer,
					  const struct monolith_callbacks *callbacks, void *user)
{
	bool outermost = turn_begin(endpoint);
	struct monolith_connection *connection = monolith__connection_new(endpoint, peer, true);

	if (connection) {
		connection->callbacks = callbacks;
		connection->user = user;
		monolith__touch(connection);
		monolith__handshake_begin(connection);
	}
	if (outermost)
		turn_end(endpoint);
	return connection;
}

/* Both first numbers are known. */
void monolith__opened(struct monolith_connection *connection)
{
	connection->life = MONOLITH_LIFE_OPEN;
	connection->heard_ns = connection->now_ns;
	monolith__rtt_begin(connection);
	monolith__cubic_begin(connection);
	monolith__start(connection, MONOLITH_CHECK,
			connection->now_ns + connection->setup->alive_interval_ns);
	if (connection->callbacks->opened)
		connection->callbacks->opened(connection, connection->user);
	if (connection->close_asked && connection->life == MONOLITH_LIFE_OPEN)
		monolith_close(connection);
}

int monolith_send(struct monolith_connection *connection, struct nopal_buffer *buffer,
		  uint32_t from, uint32_t length)
{
	bool outermost = turn_begin(connection->endpoint);
	int result;

	result = monolith__message_add(connection, buffer, from, length);
	if (result == 0)
		monolith__touch(connection);
	if (outermost)
		turn_end(connection->endpoint);
	return result;
}

void monolith__drained(struct monolith_connection *connection)
{
	if (connection->life != MONOLITH_LIFE_DRAINING)
		return;
	connection->life = MONOLITH_LIFE_CLOSING;
	monolith__handshake_close(connection);
}

void monolith_close(struct monolith_connection *connection)
{
	struct monolith_endpoint *endpoint = connection->endpoint;
	bool outermost = turn_begin(endpoint);

	monolith__touch(connection);
	if (connection->life == MONOLITH_LIFE_OPENING)
		connection->close_asked = true;
	if (connection->life == MONOLITH_LIFE_OPEN) {
		connection->life = MONOLITH_LIFE_DRAINING;
		if (connection->sender.message_head == connection->sender.message_tail)
			monolith__drained(connection);
	}
	if (outermost)
		turn_end(endpoint);
}

const struct monolith_counters *monolith_counters(const struct monolith_connection *connection)
{
	return &connection->counters;
}
