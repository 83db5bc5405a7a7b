/* SPDX-License-Identifier: MIT */
/*
 * train.c -- datagrams that leave together: equal ones in one block, the last may be shorter.
 * Segments and control are written in place.
 */
#include "session/endpoint_sessions.h"
#include "connection.h"

void monolith__flush(struct monolith_endpoint *endpoint)
{
	struct nopal_world *world = endpoint->port.world;
	const struct nopal_train train = { &endpoint->train_to, endpoint->train,
					   endpoint->train_length, endpoint->train_stride };
	enum nopal_transmitted how;

	if (!endpoint->train_count || endpoint->busy)
		return;
	how = world->ops->transmit(world, (struct nopal_endpoint *)(void *)endpoint, &train);
	if (how == NOPAL_BUSY) {
		endpoint->busy = true;
		endpoint->port.counters.busy++;
		return;
	}
	endpoint->port.counters.trains_out++;
	endpoint->port.counters.datagrams_out += endpoint->train_count;
	endpoint->port.counters.soft_errors += how != NOPAL_TRANSMITTED;
	endpoint->train_length = endpoint->train_count = 0;
	endpoint->train_closed = false;
}

uint32_t monolith__train_room(struct monolith_connection *connection, uint32_t bytes)
{
	struct monolith_endpoint *endpoint = connection->endpoint;
	uint32_t room = 0, left;

	if (endpoint->busy)
		return 0;
	if (endpoint->train_of == connection && !endpoint->train_closed &&
	    bytes <= endpoint->train_stride)
		room = (NOPAL_TRAIN_BYTES - endpoint->train_length) / bytes;
	left = NOPAL_TRAIN_DATAGRAMS - endpoint->train_count;
	if (endpoint->train_count && (!room || !left)) {
		monolith__flush(endpoint);
		if (endpoint->busy)
			return 0;
	}
	if (endpoint->train_count) {
		/* A shorter one ends the train. */
		if (bytes < endpoint->train_stride)
			return 1;
		return room < left ? room : left;
	}
	endpoint->train_of = connection;
	endpoint->train_to = connection->peer;
	endpoint->train_stride = bytes;
	room = NOPAL_TRAIN_BYTES / bytes;
	return room < NOPAL_TRAIN_DATAGRAMS ? room : NOPAL_TRAIN_DATAGRAMS;
}

uint8_t *monolith__control_begin(struct monolith_connection *connection, uint32_t max)
{
	uint32_t bytes = MONOLITH_HEAD + max + connection->setup->trailer_bytes;

	if (!monolith__train_room(connection, bytes))
		return NULL;
	return monolith__train_at(connection) + MONOLITH_HEAD;
}

/* A datagram that is shorter than asked for may begin its train: it sets the stride. */
void monolith__control_end(struct monolith_connection *connection, enum monolith_kind kind,
			   uint32_t length)
{
	struct monolith_endpoint *endpoint = connection->endpoint;
	uint8_t *at = monolith__train_at(connection);
	uint32_t bytes = MONOLITH_HEAD + length;

	memcpy(at, connection->peer_head, MONOLITH_HEAD);
	at[0] = (uint8_t)(MONOLITH_VERSION_BITS | kind);
	if (kind == MONOLITH_CONNECT)
		monolith_put32(at + 1, connection->local_id);
	else if (connection->setup->trailer_bytes)
		monolith_put32(at + bytes, nopal__crc32c(at, bytes));
	if (kind != MONOLITH_CONNECT)
		bytes += connection->setup->trailer_bytes;
	if (!endpoint->train_count)
		endpoint->train_stride = bytes;
	monolith__train_add(connection, 1, bytes);
	connection->counters.control_out++;
}
