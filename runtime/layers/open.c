/* SPDX-License-Identifier: MIT */
/*
 * open.c -- opens a session as the multiplicity of its plan's layers wants it: first the layers
 * that every stream shares, of one peer or of many, and then a stream on them, where there are
 * streams.
 */
#include "engine/turn.h"
#include "layers/group.h"
#include "layers/streams.h"
#include "session/session.h"
#include "wire/rendezvous.h"

/* The top of the layers that streams share; of the session's, where there are none. */
static struct nopal_composite *open_shared(const struct nopal_open *open)
{
	const struct nopal_plan *plan = open->plan;
	struct nopal_composite *flow = nopal__flow_find(open);

	if (flow)
		return flow;
	if (open->rendezvous)
		return nopal__rendezvous_open(open);
	if (plan->destinations)
		return nopal__group_open(open);
	return open->peer ? nopal__stack_open(open->endpoint, open->plan, plan->flow,
					      plan->layer_count, open->peer, open->callbacks,
					      open->user)
			  : NULL;
}

struct nopal_session *nopal_session_open(const struct nopal_open *open)
{
	struct nopal_world *world =
		open->beside ? nopal__composite(open->beside)->world : open->endpoint->port.world;
	bool outermost = nopal__turn_begin(world);
	struct nopal_composite *top =
		open->beside ? nopal__flow_of(open->beside) : open_shared(open);

	if (top && top->up->begin)
		top = top->up->begin(top, open->callbacks, open->user);
	nopal__turn_end(world, outermost);
	return top ? &top->session : NULL;
}
