/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ports/world.h"
#include "support/noting_core.h"
#include "support/test.h"

/* ------------------------------------------- a core that notes what it gets */

struct note notes[MAX_NOTES];
unsigned note_count;
int64_t timer_ns;
unsigned wakes;
struct nopal_buffer *kept;

struct nopal_port *nopal__endpoint_port(struct nopal_endpoint *endpoint)
{
	return &endpoint->port;
}

void nopal__world_init(struct nopal_world *world, const struct nopal_world_ops *ops)
{
	world->ops = ops;
	timer_ns = NOPAL_NEVER;
	note_count = wakes = 0;
	kept = NULL;
}

int64_t nopal__world_next(const struct nopal_world *world)
{
	(void)world;
	return timer_ns;
}

void nopal__world_wake(struct nopal_world *world)
{
	assert_true(world->now_ns >= timer_ns);
	timer_ns = NOPAL_NEVER;
	wakes++;
}

struct nopal_endpoint *nopal_endpoint_open(struct nopal_world *world,
					   const struct nopal_address *local,
					   struct nopal_problems *problems)
{
	struct nopal_endpoint *endpoint = calloc(1, sizeof(*endpoint));

	endpoint->port.world = world;
	endpoint->port.local = *local;
	if (world->ops->port_open(world, endpoint, problems)) {
		free(endpoint);
		return NULL;
	}
	endpoint->next = world->endpoints;
	world->endpoints = endpoint;
	return endpoint;
}

enum nopal_transmitted transmit(struct nopal_endpoint *from, const struct nopal_address *to,
				const void *bytes, uint32_t length, uint32_t stride)
{
	struct nopal_train train = { .to = to, .bytes = bytes, .length = length, .stride = stride };

	return from->port.world->ops->transmit(from->port.world, from, &train);
}

void nopal__endpoint_receive(struct nopal_endpoint *endpoint, const struct nopal_arrival *arrivals,
			     size_t count)
{
	struct nopal_world *world = endpoint->port.world;

	endpoint->calls++;
	if (endpoint->close_on_receive)
		world->ops->port_close(world, endpoint);
	for (size_t i = 0; i < count; i++) {
		const struct nopal_arrival *arrival = &arrivals[i];
		struct note *note = &notes[note_count++];

		assert_true(note_count < MAX_NOTES);
		*note = (struct note){ .time_ns = world->now_ns,
				       .endpoint = endpoint,
				       .from = arrival->from,
				       .call = endpoint->calls,
				       .length = arrival->length };
		memcpy(note->bytes, arrival->bytes,
		       arrival->length < NOTED_BYTES ? arrival->length : NOTED_BYTES);
		if (endpoint->keep)
			kept = nopal_buffer_ref(arrival->buffer);
		if (endpoint->echo)
			transmit(endpoint, &arrival->from, arrival->bytes, arrival->length,
				 arrival->length);
	}
}

void nopal__world_fini(struct nopal_world *world)
{
	struct nopal_endpoint *endpoint = world->endpoints;

	while (endpoint) {
		struct nopal_endpoint *next = endpoint->next;

		world->ops->port_close(world, endpoint);
		free(endpoint);
		endpoint = next;
	}
}

void end(struct nopal_world *world)
{
	world->ops->free(world);
}

/* ----------------------------------------------------------------- fixtures */

void words(const char *text, struct nopal_link *ret_link)
{
	struct nopal_problems problems = { 0 };
	struct nopal_link reverse;

	assert_int_equal(nopal_link_parse(text, ret_link, &reverse, &problems), 0);
	nopal_problems_fini(&problems);
}

struct nopal_world *pair(const char *text, uint64_t seed, struct nopal_endpoint *ends[2])
{
	struct nopal_world *world = nopal_sim_new(seed);
	struct nopal_link link;

	words(text, &link);
	assert_int_equal(nopal_sim_host(world), 0);
	assert_int_equal(nopal_sim_host(world), 1);
	assert_int_equal(nopal_sim_connect(world, 0, 1, &link, NULL), 0);
	for (int i = 0; i < 2; i++) {
		ends[i] = nopal_sim_endpoint(world, i, PORT);
		assert_non_null(ends[i]);
	}
	return world;
}

enum nopal_transmitted say(struct nopal_endpoint *from, struct nopal_endpoint *to, const char *text)
{
	return transmit(from, &to->port.local, text, (uint32_t)strlen(text), 0);
}

void heard(unsigned index, struct nopal_endpoint *at, int64_t time_ns, const char *text)
{
	assert_true(index < note_count);
	assert_ptr_equal(notes[index].endpoint, at);
	assert_int_equal(notes[index].time_ns, time_ns);
	assert_int_equal(notes[index].length, strlen(text));
	assert_memory_equal(notes[index].bytes, text, strlen(text));
}
