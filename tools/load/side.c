/* SPDX-License-Identifier: MIT */
/*
 * side.c -- one side of a workload by a config, live or simulated.
 */
#include "load/side.h"

#include <nopal/microprotocol.h>
#include "load/clock.h"

enum { SIDE_SIM_PORT = 9000 };
#define SIDE_LINGER_NS (50 * NOPAL_MICROSECOND)

int64_t side_now(const struct side *side)
{
	return clock_world_ns(side->loop, side->world);
}

void side_heard(struct side *side)
{
	side->heard_ns = side_now(side);
}

void side_over(struct side *side)
{
	side->over = true;
	if (side->loop)
		loop_stop(side->loop);
}

void side_on_ended(struct nopal_session *session, enum nopal_end end, const char *text, void *user)
{
	(void)session, (void)end, (void)text;
	side_over(user);
}

/* ---------------------------------------------------------------------- live */

/* Some configs do not send a lost message again: then the run ends. */
static void side_on_tick(void *user)
{
	struct side *side = user;
	int64_t left_ns = side->heard_ns + side->patience_ns - side_now(side);

	if (left_ns <= 0)
		side_over(side);
	else
		loop_event_start(side->tick, left_ns);
}

static bool side_loop(struct side *side)
{
	side->loop = loop_new(NULL);
	if (!side->loop)
		return false;
	side->world = loop_world(side->loop);
	if (side->way == SIDE_LINGER)
		nopal_live_linger(side->world, SIDE_LINGER_NS);
	return true;
}

static void side_run(struct side *side)
{
	if (side->way == SIDE_SPIN)
		loop_spin(side->loop, &side->over);
	else if (!side->over)
		loop_run(side->loop);
}

void side_listen(struct side *side, const struct bench_place *place, struct nopal_plan *plan,
		 const struct nopal_callbacks *callbacks, int tell)
{
	if (side_loop(side) && bench_partner_listen(side->loop, place, plan, callbacks, side, tell))
		side_run(side);
}

void side_open(struct side *side, const struct bench_place *place, uint16_t port,
	       struct nopal_plan *plan, const struct nopal_callbacks *callbacks)
{
	if (!side_loop(side))
		return;
	side_heard(side);
	side->tick = loop_event_new(side->loop, LOOP_TIMER, -1, side_on_tick, side);
	if (side->tick)
		loop_event_start(side->tick, side->patience_ns);
	if (side->tick && bench_partner_open(side->loop, place, port, plan, callbacks, side))
		side_run(side);
	side->over = true; /* what still arrives is not counted */
	loop_event_free(side->tick);
	loop_free(side->loop);
}

/* ----------------------------------------------------------------- simulated */

struct nopal_session *side_connect(struct nopal_world *world, const struct side_link *link,
				   const struct side_peers *peers)
{
	struct nopal_endpoint *from, *to;
	struct nopal_address peer;

	nopal_sim_host(world);
	nopal_sim_host(world);
	nopal_sim_connect(world, 0, 1, link->forward, link->reverse);
	from = nopal_sim_endpoint(world, 0, 0);
	to = nopal_sim_endpoint(world, 1, SIDE_SIM_PORT);
	nopal_sim_address(1, SIDE_SIM_PORT, &peer);
	if (!from || !to ||
	    nopal_endpoint_allow(to, peers->plan, NOPAL_ALLOW_CONNECTIONLESS, peers->listens,
				 peers->listener))
		return NULL;
	return nopal_open(from, peers->plan, &peer, peers->opens, peers->opener);
}

bool side_simulate(struct side *opener, struct side *listener, const struct side_link *link,
		   const struct side_peers *peers)
{
	struct nopal_world *world = nopal_sim_new(link->seed);
	bool good;

	opener->world = listener->world = world;
	good = world && side_connect(world, link, peers);
	while (good && !opener->over && nopal_sim_step(world))
		if (nopal_world_now(world) - opener->heard_ns > opener->patience_ns)
			break;
	opener->over = true;
	nopal_world_free(world);
	return good;
}
