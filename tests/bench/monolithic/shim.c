/* SPDX-License-Identifier: MIT */
/*
 * shim.c -- two cores behind one io.h: what a world calls goes to the core whose endpoint it is.
 * The linker's --wrap gives the worlds' calls to this file, so neither core knows of the other, and
 * both may share a world.
 */
#include "session/endpoint_sessions.h"
#include "monolith.h"

void __real_nopal__endpoint_receive(struct nopal_endpoint *endpoint,
				    const struct nopal_arrival *arrivals, size_t count);
void __real_nopal__endpoint_writable(struct nopal_endpoint *endpoint);
void __real_nopal__world_wake(struct nopal_world *world);
int64_t __real_nopal__world_next(const struct nopal_world *world);
void __real_nopal__world_fini(struct nopal_world *world);

void __wrap_nopal__endpoint_receive(struct nopal_endpoint *endpoint,
				    const struct nopal_arrival *arrivals, size_t count);
void __wrap_nopal__endpoint_writable(struct nopal_endpoint *endpoint);
void __real_nopal__endpoint_hint(struct nopal_endpoint *endpoint, const struct nopal_hint *hint);
void __wrap_nopal__endpoint_hint(struct nopal_endpoint *endpoint, const struct nopal_hint *hint);
void __wrap_nopal__world_wake(struct nopal_world *world);
int64_t __wrap_nopal__world_next(const struct nopal_world *world);
void __wrap_nopal__world_fini(struct nopal_world *world);

static struct monolith_endpoint *ours(struct nopal_endpoint *endpoint)
{
	return (struct monolith_endpoint *)(void *)endpoint;
}

void __wrap_nopal__endpoint_receive(struct nopal_endpoint *endpoint,
				    const struct nopal_arrival *arrivals, size_t count)
{
	if (monolith__owns(endpoint))
		monolith__receive(ours(endpoint), arrivals, count);
	else
		__real_nopal__endpoint_receive(endpoint, arrivals, count);
}

void __wrap_nopal__endpoint_writable(struct nopal_endpoint *endpoint)
{
	if (monolith__owns(endpoint))
		monolith__writable(ours(endpoint));
	else
		__real_nopal__endpoint_writable(endpoint);
}

/* The hand-written transport heeds nothing that anybody can forge. */
void __wrap_nopal__endpoint_hint(struct nopal_endpoint *endpoint, const struct nopal_hint *hint)
{
	if (!monolith__owns(endpoint))
		__real_nopal__endpoint_hint(endpoint, hint);
}

void __wrap_nopal__world_wake(struct nopal_world *world)
{
	monolith__wake(world);
	if (world->endpoints)
		__real_nopal__world_wake(world);
}

int64_t __wrap_nopal__world_next(const struct nopal_world *world)
{
	int64_t next_ns = monolith__next(world), composed_ns;

	if (!world->endpoints)
		return next_ns;
	composed_ns = __real_nopal__world_next(world);
	return composed_ns < next_ns ? composed_ns : next_ns;
}

void __wrap_nopal__world_fini(struct nopal_world *world)
{
	monolith__fini(world);
	__real_nopal__world_fini(world);
}
