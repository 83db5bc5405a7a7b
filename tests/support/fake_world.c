/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "session/endpoint_sessions.h"
#include "support/fake_world.h"
#include "support/test.h"

struct fake_world fake;

static int64_t fake_clock(struct nopal_world *world)
{
	return world->now_ns;
}

static uint64_t fake_random(struct nopal_world *world)
{
	(void)world;
	fake.draw = fake.draw * UINT64_C(6364136223846793005) + 1;
	return fake.draw >> 32;
}

static int fake_port_open(struct nopal_world *world, struct nopal_endpoint *endpoint,
			  struct nopal_problems *problems)
{
	(void)world, (void)endpoint, (void)problems;
	return 0;
}

static void fake_port_close(struct nopal_world *world, struct nopal_endpoint *endpoint)
{
	(void)world, (void)endpoint;
}

static enum nopal_transmitted fake_transmit(struct nopal_world *world,
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

static void fake_wake_at(struct nopal_world *world, int64_t time_ns)
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

void fake_begin(void)
{
	memset(&fake, 0, sizeof(fake));
	nopal__world_init(&fake.world, &fake_ops);
}
