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
#include "wire/wire.h"
/* On the layers that streams share, where there are any: a flow that is there, or a new one. */
struct nopal_session *nopal_session_open(const struct nopal_open *open)
{
	bool alone = !open->beside;
	const struct nopal_plan *plan = open->plan;
	struct nopal_world *world =
		alone ? open->endpoint->port.world : nopal__composite(open->beside)->world;
	bool outermost = nopal__turn_begin(world);
	struct nopal_composite *top = alone ? nopal__flow_find(open) : nopal__flow_of(open->beside);

	alone &= !top;
	if (alone && open->rendezvous)
		top = nopal__rendezvous_open(open);
	else if (alone && plan->destinations)
		top = nopal__group_open(open);
	else if (alone && open->peer)
		top = nopal__stack_open(open->endpoint, open->plan, plan->flow, plan->layer_count,
					open->peer, open->callbacks, open->user);
	if (top && top->up->begin)
		top = top->up->begin(top, open->callbacks, open->user);
	nopal__turn_end(world, outermost);
	return top ? &top->session : NULL;
}
