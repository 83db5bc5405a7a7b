/* SPDX-License-Identifier: MIT */
/*
 * sim_packet.c -- datagrams of the simulated network, and their pool.
 *
 * Every datagram is a buffer of its own.  The core keeps those that it still reads and gives them
 * back by their references; a packet that comes back waits in the pool, so that a steady state
 * allocates nothing.  Packets may outlive their world: the last one takes the pool with it.
 */
#include <stdlib.h>
#include <string.h>

#include "io/sim/sim.h"

enum {
	/* Bytes of a small packet, header included: an Ethernet MTU fits. */
	SIM_SMALL_BYTES = 2048,
	SIM_LARGE_BYTES = 65536 + sizeof(struct sim_packet),
	SIM_BITS_A_BYTE = 8,
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

struct sim_pool *nopal__sim_pool_new(void)
{
	return calloc(1, sizeof(struct sim_pool));
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

static struct sim_packet *sim_packet_make(struct sim_pool *pool, enum sim_size size)
{
	uint32_t capacity = sim_packet_capacity(size);
	struct sim_packet *packet = malloc(sizeof(*packet) + capacity);

	if (!packet)
		return NULL;
	packet->buffer = (struct nopal_buffer){
		.capacity = capacity,
		.bytes = packet->bytes,
		.release = sim_packet_release,
		.owner = pool,
	};
	pool->made++;
	return packet;
}

struct sim_packet *nopal__sim_packet_new(struct sim_pool *pool, const void *bytes, uint32_t length)
{
	enum sim_size size = sim_packet_size(length);
	struct sim_packet *packet = pool->free[size];

	if (length > sim_packet_capacity(SIM_LARGE))
		return NULL;
	if (packet)
		pool->free[size] = packet->next;
	else
		packet = sim_packet_make(pool, size);
	if (!packet)
		return NULL;
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

void nopal__sim_packet_flip(struct sim_packet *packet, uint64_t bit)
{
	if (packet->length == 0)
		return;
	bit %= (uint64_t)packet->length * SIM_BITS_A_BYTE;
	packet->bytes[bit / SIM_BITS_A_BYTE] ^= (uint8_t)(1u << bit % SIM_BITS_A_BYTE);
}
