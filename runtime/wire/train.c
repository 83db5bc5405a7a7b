/* SPDX-License-Identifier: MIT */
/*
 * train.c -- trains on the way out: datagrams of one size to one address, built in the endpoint's
 * buffer and handed to the world together.
 */
#include <string.h>

#include "wire/wire.h"

/* The last datagram is sealed when the next one lies behind it or the train leaves: by then its
 * bytes are in the cache and need not be waited for.  Its session may be of another plan than the
 * one whose fused unit this is. */
NOPAL_HOT static void train_seal(struct nopal_endpoint *endpoint)
{
	struct nopal_composite *composite = endpoint->train_of;
	uint32_t bytes = endpoint->unsealed;
	const struct nopal_part *seal;

	if (!bytes)
		return;
	endpoint->unsealed = 0;
	seal = composite->layer->plan->seal;
	seal->microprotocol->seal->close((struct nopal_at){ &composite->session, seal },
					 endpoint->train + endpoint->train_length - bytes,
					 bytes - composite->layer->plan->trailer_bytes);
}

void nopal__train_finish(struct nopal_composite *composite)
{
	if (composite->endpoint->train_of == composite)
		train_seal(composite->endpoint);
	for (struct nopal_endpoint *alias = composite->endpoint->aliases; alias;
	     alias = alias->next_alias)
		if (alias->train_of == composite)
			train_seal(alias);
}

/* Not inlined: its wide read of length and stride would move before the tests of its callers, and
 * wait there for the narrow writes of the datagram before. */
__attribute__((noinline)) void nopal__endpoint_flush(struct nopal_endpoint *endpoint)
{
	struct nopal_endpoint_counters *counters = &endpoint->port.counters;
	struct nopal_composite *composite = endpoint->train_of;
	struct nopal_train train = {
		.to = &endpoint->train_to,
		.bytes = endpoint->train,
		.length = endpoint->train_length,
		.stride = endpoint->train_stride,
		.fragments = endpoint->train_fragments,
		.ecn = composite && composite->awake ? composite->awake->path_ecn : 0,
	};
	enum nopal_transmitted how;

	train_seal(endpoint);
	if (!endpoint->train_count || endpoint->busy)
		return;
	how = endpoint->port.world->ops->transmit(endpoint->port.world, endpoint, &train);
	if (how == NOPAL_BUSY) {
		endpoint->busy = true;
		counters->busy++;
		return;
	}
	counters->trains_out++;
	counters->datagrams_out += endpoint->train_count;
	if (how != NOPAL_TRANSMITTED)
		counters->soft_errors++;
	if (how == NOPAL_TOO_BIG && composite && composite->awake &&
	    composite->life != NOPAL_LIFE_ENDED) /* our own host has no path for this length */
		nopal__path_narrowed(composite, endpoint->train_stride - 1);
	endpoint->train_length = endpoint->train_count = 0;
	endpoint->train_closed = endpoint->train_fragments = false;
}

NOPAL_HOT static bool train_takes(const struct nopal_endpoint *endpoint,
				  const struct nopal_composite *composite, uint32_t bytes)
{
	return endpoint->train_of == composite && !endpoint->train_closed &&
	       bytes <= endpoint->train_stride &&
	       endpoint->train_length + bytes <= NOPAL_TRAIN_BYTES &&
	       endpoint->train_count < NOPAL_TRAIN_DATAGRAMS;
}

NOPAL_HOT bool nopal__train_ready(struct nopal_composite *composite, uint32_t bytes)
{
	struct nopal_endpoint *endpoint = composite->endpoint;

	if (endpoint->train_count && !train_takes(endpoint, composite, bytes))
		nopal__endpoint_flush(endpoint);
	return !endpoint->busy;
}

NOPAL_HOT static void train_add(struct nopal_endpoint *endpoint, uint32_t bytes)
{
	train_seal(endpoint);
	endpoint->train_length += bytes;
	endpoint->train_count++;
	endpoint->train_closed = bytes < endpoint->train_stride;
}

bool nopal__train_turn(struct nopal_way way)
{
	if (way.endpoint->train_count && !nopal_address_equal(&way.endpoint->train_to, way.to)) {
		nopal__endpoint_flush(way.endpoint);
		return !way.endpoint->train_count;
	}
	return true;
}

/* NULL: the kernel is busy, the datagram is dropped like one lost on the way. */
NOPAL_HOT uint8_t *nopal__train_room(struct nopal_composite *composite, struct nopal_way way,
				     uint32_t bytes)
{
	struct nopal_endpoint *endpoint = way.endpoint;

	if (endpoint->train_count && !train_takes(endpoint, composite, bytes))
		nopal__endpoint_flush(endpoint);
	if (endpoint->train_count && !train_takes(endpoint, composite, bytes))
		return NULL;
	if (endpoint->train_count == 0) {
		endpoint->train_of = composite;
		endpoint->train_to = *way.to;
		endpoint->train_stride = bytes;
	}
	if (!endpoint->unflushed) {
		endpoint->unflushed = true;
		endpoint->next_unflushed = endpoint->port.world->unflushed;
		endpoint->port.world->unflushed = endpoint;
	}
	return endpoint->train + endpoint->train_length;
}

NOPAL_HOT void nopal__train_add(struct nopal_composite *composite, struct nopal_endpoint *endpoint,
				uint32_t bytes)
{
	composite->awake->counters.datagrams_out++;
	composite->awake->counters.datagram_bytes_out += bytes;
	train_add(endpoint, bytes);
}

NOPAL_HOT void nopal__train_add_open(struct nopal_composite *composite,
				     struct nopal_endpoint *endpoint, uint32_t bytes)
{
	nopal__train_add(composite, endpoint, bytes);
	if (nopal__plan(composite)->seal)
		endpoint->unsealed = bytes;
}

void nopal__train_end_long(struct nopal_endpoint *endpoint, bool fragments)
{
	endpoint->train_closed = true;
	endpoint->train_fragments = fragments;
}

/* A datagram of no session: a train of its own, or none where the kernel is busy with another. */
void nopal__endpoint_answer(struct nopal_endpoint *endpoint, const struct nopal_address *to,
			    const uint8_t *bytes, uint32_t length)
{
	if (endpoint->train_count)
		nopal__endpoint_flush(endpoint);
	if (endpoint->train_count)
		return;
	endpoint->train_of = NULL;
	memcpy(nopal__train_room(NULL, (struct nopal_way){ endpoint, to }, length), bytes, length);
	train_add(endpoint, length);
	nopal__endpoint_flush(endpoint);
	endpoint->port.counters.replies++;
}
