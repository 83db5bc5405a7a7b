/* SPDX-License-Identifier: MIT */
/*
 * fake_world.h -- a world of the test's own, which notes every train, and answers as the test tells
 * it to.
 *
 *     fake_begin();
 *     endpoint = nopal_endpoint_open(&fake.world, &(struct nopal_address){ 0 }, NULL);
 *     ...
 *     nopal__world_fini(&fake.world);
 *
 * Include it after cmocka.h.
 */
#ifndef NOPAL_TESTS_FAKE_WORLD_H
#define NOPAL_TESTS_FAKE_WORLD_H

#include <string.h>

#include "session/session.h"
#include "support/test.h"

enum {
	TRAINS = 4096,
	HEAD = 1 + NOPAL_ID_BYTES, /* of a data datagram without fields */
};

struct noted {
	uint16_t port; /* of the peer */
	uint32_t length, stride, datagrams;
	uint8_t first; /* byte of the first body */
	uint8_t ecn;
	bool fragments;
};

static struct {
	struct nopal_world world; /* first */
	uint64_t draw;
	enum nopal_transmitted answer;
	unsigned takes; /* trains that it takes before it gives `answer` */
	unsigned trains;
	struct noted train[TRAINS];
	uint8_t bytes[NOPAL_TRAIN_BYTES]; /* of the last one */
} fake;

static inline int64_t fake_clock(struct nopal_world *world)
{
	return world->now_ns;
}

static inline uint64_t fake_random(struct nopal_world *world)
{
	(void)world;
	fake.draw = fake.draw * UINT64_C(6364136223846793005) + 1;
	return fake.draw >> 32;
}

static inline int fake_port_open(struct nopal_world *world, struct nopal_endpoint *endpoint,
				 struct nopal_problems *problems)
{
	(void)world, (void)endpoint, (void)problems;
	return 0;
}

static inline void fake_port_close(struct nopal_world *world, struct nopal_endpoint *endpoint)
{
	(void)world, (void)endpoint;
}

static inline enum nopal_transmitted fake_transmit(struct nopal_world *world,
						   struct nopal_endpoint *endpoint,
						   const struct nopal_train *train)
{
	(void)world, (void)endpoint;
	if (fake.takes == 0 && fake.answer != NOPAL_TRANSMITTED)
		return fake.answer;
	if (fake.takes)
		fake.takes--;
	assert_true(fake.trains < TRAINS);
	fake.train[fake.trains++] = (struct noted){
		train->to->port,
		train->length,
		train->stride,
		(train->length + train->stride - 1) / train->stride,
		train->bytes[train->length > HEAD ? HEAD : 0],
		train->ecn,
		train->fragments,
	};
	memcpy(fake.bytes, train->bytes, train->length);
	return NOPAL_TRANSMITTED;
}

static inline void fake_wake_at(struct nopal_world *world, int64_t time_ns)
{
	(void)world, (void)time_ns;
}

static const struct nopal_world_ops fake_ops = {
	.name = "fake",
	.clock = fake_clock,
	.random = fake_random,
	.port_open = fake_port_open,
	.port_close = fake_port_close,
	.transmit = fake_transmit,
	.wake_at = fake_wake_at,
};

static inline void fake_begin(void)
{
	memset(&fake, 0, sizeof(fake));
	nopal__world_init(&fake.world, &fake_ops);
}

#endif
