/* SPDX-License-Identifier: MIT */
/*
 * idle.h -- how a part gives memory back whose state begins with a queue, or with lanes.
 */
#ifndef NOPAL_IDLE_H
#define NOPAL_IDLE_H

#include <nopal/microprotocol.h>

static inline void idle_queue(struct nopal_at at)
{
	nopal_queue_idle(at.session, nopal_state(at));
}

static inline void idle_lanes(struct nopal_at at)
{
	nopal_lanes_idle(at.session, nopal_state(at));
}

#endif
