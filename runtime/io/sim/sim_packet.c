/* SPDX-License-Identifier: MIT */
/*
 * sim_packet.c -- datagrams of the simulated network: their pool, and the rings of the links.
 *
 * Every datagram is a buffer of its own.  The core keeps those that it still reads and gives them
 * back by their references; a packet that comes back waits in the pool, so that a steady state
 * allocates nothing.  Packets may outlive their world: the last one takes the pool with it.
 *
 * While a link's packets come out in the order of their going in (no jitter, no reordering), each
 * waits in the ring of its link, and the heap of events holds one entry a link: its depth does not
 * grow with the packets in flight.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/ring.h"
#include "io/sim/sim.h"

enum {
	/* Bytes of a small packet, header included: an Ethernet MTU fits. */
	SIM_SMALL_BYTES = 2048,
	SIM_LARGE_BYTES = 65536 + sizeof(struct sim_packet),
};

static uint32_t sim_packet_capacity(enum sim_size size)
{
	return (uint32_t)((size == SIM_SMALL ? SIM_SMALL_BYTES : SIM_LARGE_BYTES) -
			  sizeof(struct sim_packet));
}

static enum sim_size sim_packet_size(uint32_t length)
{
	return length <= sim_packet_capacity(SIM_SMALL) ? SIM_SMALL : SIM_LARGE;
}

static void sim_pool_free(struct sim_pool *pool)
{
	for (int size = 0; size < SIM_SIZES; size++)
		while (pool->free[size]) {
			struct sim_packet *packet = pool->free[size];

			pool->free[size] = packet->next;
			free(packet);
		}
	free(pool);
}

void nopal__sim_pool_close(struct sim_pool *pool)
{
	pool->closed = true;
	if (pool->away == 0)
		sim_pool_free(pool);
}

static void sim_packet_release(struct nopal_buffer *buffer)
{
	struct sim_packet *packet = (struct sim_packet *)buffer;
	struct sim_pool *pool = buffer->owner;
	enum sim_size size = sim_packet_size(buffer->capacity);

	packet->next = pool->free[size];
	pool->free[size] = packet;
	pool->away--;
	if (pool->closed && pool->away == 0)
		sim_pool_free(pool);
}

struct sim_packet *nopal__sim_packet_new(struct sim_pool *pool, const void *bytes, uint32_t length)
{
	enum sim_size size = sim_packet_size(length);
	uint32_t capacity = sim_packet_capacity(size);
	struct sim_packet *packet = pool->free[size];

	if (length > capacity)
		return NULL;
	if (packet) {
		pool->free[size] = packet->next;
	} else {
		packet = malloc(sizeof(*packet) + capacity);
		if (!packet)
			return NULL;
		packet->buffer = (struct nopal_buffer){
			.capacity = capacity,
			.bytes = packet->bytes,
			.release = sim_packet_release,
			.owner = pool,
		};
	}
	pool->away++;
	packet->buffer.references = 1;
	packet->length = length;
	packet->fragments = false;
	packet->ecn = NOPAL_NOT_ECT;
	if (length)
		memcpy(packet->bytes, bytes, length);
	return packet;
}

struct sim_packet *nopal__sim_packet_copy(struct sim_pool *pool, const struct sim_packet *packet)
{
	struct sim_packet *copy = nopal__sim_packet_new(pool, packet->bytes, packet->length);

	if (!copy)
		return NULL;
	copy->from = packet->from;
	copy->to_host = packet->to_host;
	copy->to_port = packet->to_port;
	copy->multicast = packet->multicast;
	copy->fragments = packet->fragments;
	copy->ecn = packet->ecn;
	return copy;
}

/* ------------------------------------------------------------------ rings */

static struct sim_flight *sim_flight_at(struct sim_link *link, uint32_t index)
{
	return &link->ring[(link->first + index) & (link->room - 1)];
}

bool nopal__sim_link_put(struct sim *sim, uint32_t index, int64_t time_ns,
			 struct sim_packet *packet)
{
	struct sim_link *link = &sim->links[index];
	uint64_t order = sim->order++;

	if (link->flying &&
	    sim_flight_at(link, link->flying - 1)->time_ns > time_ns) /* overtakes */
		return nopal__heap_push(&sim->heap, &(struct nopal__event){ .time_ns = time_ns,
									    .order = order,
									    .kind = SIM_PACKET,
									    .where = link->to,
									    .packet = packet });
	if (link->flying == link->room &&
	    !nopal__ring_grow(NULL, &link->ring, &link->first, &link->room, sizeof(*link->ring)))
		return false;
	if (link->flying == 0 &&
	    !nopal__heap_push(&sim->heap, &(struct nopal__event){ .time_ns = time_ns,
								  .order = order,
								  .kind = SIM_LINK,
								  .where = index }))
		return false;
	*sim_flight_at(link, link->flying++) =
		(struct sim_flight){ .time_ns = time_ns, .order = order, .packet = packet };
	return true;
}

struct sim_packet *nopal__sim_link_take(struct sim *sim, uint32_t index)
{
	struct sim_link *link = &sim->links[index];
	struct sim_packet *packet = sim_flight_at(link, 0)->packet;

	link->first = (link->first + 1) & (link->room - 1);
	if (--link->flying == 0) {
		nopal__heap_pop(&sim->heap);
		return packet;
	}
	sim->heap.events[0].time_ns = sim_flight_at(link, 0)->time_ns;
	sim->heap.events[0].order = sim_flight_at(link, 0)->order;
	nopal__heap_sink(&sim->heap);
	return packet;
}

void nopal__sim_drop_all(struct sim *sim)
{
	while (sim->heap.count) {
		struct nopal__event event = sim->heap.events[0];

		if (event.kind == SIM_LINK)
			event.packet = nopal__sim_link_take(sim, event.where);
		else
			nopal__heap_pop(&sim->heap);
		if (event.kind != SIM_CALL)
			nopal__sim_packet_drop(event.packet);
	}
}
