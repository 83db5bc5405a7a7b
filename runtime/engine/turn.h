/* SPDX-License-Identifier: MIT */
/*
 * turn.h -- one entry into the core, however deep its calls nest: turn.c.
 */
#ifndef NOPAL_TURN_H
#define NOPAL_TURN_H

#include "engine/composite.h"

bool nopal__turn_begin(struct nopal_world *world); /* true: outermost */
void nopal__turn_end(struct nopal_world *world, bool outermost);
/* Resumes an idle session, which may have ended after that. */
void nopal__touch_first(struct nopal_composite *composite); /* in this turn */
static inline void nopal__touch(struct nopal_composite *composite)
{
	if (composite->touched) /* and so awake */
		composite->session.now_ns = composite->world->now_ns;
	else
		nopal__touch_first(composite);
}
void nopal__bury(struct nopal_composite *bottom); /* free at the end of the turn */

#endif
