/* SPDX-License-Identifier: MIT */
/*
 * open.c -- opens a session as the multiplicity of its plan's layers wants it.
 */
#include "engine/turn.h"
#include "layers/group.h"
#include "layers/streams.h"
#include "session/session.h"

struct nopal_session *nopal_session_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					 const struct nopal_address *peer,
					 const struct nopal_callbacks *callbacks, void *user)
{
	struct nopal_world *world = endpoint->port.world;
	struct nopal_composite *top;
	bool outermost;

	if (plan->destinations)
		return nopal__group_with_one(endpoint, plan, peer, callbacks, user);
	if (plan->flow)
		return nopal__flow_open(endpoint, plan, peer, callbacks, user);
	outermost = nopal__turn_begin(world);
	top = nopal__stack_open(endpoint, plan, 0, plan->layer_count, peer, callbacks, user);
	nopal__turn_end(world, outermost);
	return top ? &top->session : NULL;
}
