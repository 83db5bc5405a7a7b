/* SPDX-License-Identifier: MIT */
/*
 * path.c -- what a session knows of its path and may change.
 *
 * What changes is kept by how much it differs from the plan's, so that a session
 * that never asked its path keeps nothing.  Of a stack of layers the bottom one
 * has the path.
 */
#include "session.h"

void nopal_path_limit_set(struct nopal_session *session,
			  uint32_t datagram_bytes)
{
	struct nopal_core *core = nopal__core(session);
	const struct nopal_plan *plan = core->layer->plan;

	if (core->below)
		return;
	if (datagram_bytes < plan->path_floor)
		datagram_bytes = plan->path_floor;
	if (datagram_bytes > plan->datagram_bytes)
		datagram_bytes = plan->datagram_bytes;
	core->awake->path_short =
		(uint16_t)(plan->datagram_bytes - datagram_bytes);
}

void nopal_path_ecn_set(struct nopal_session *session, enum nopal_ecn ecn)
{
	struct nopal_core *core = nopal__core(session);

	if (!core->below)
		core->awake->path_ecn = (uint8_t)ecn;
}
