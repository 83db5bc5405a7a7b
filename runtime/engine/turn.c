/* SPDX-License-Identifier: MIT */
/*
 * turn.c -- a turn: one entry into the core, however deep its calls nest.
 *
 * At its outermost end every touched session sees TURN_END (acks are decided, windows granted),
 * trains leave, and sessions that ended are freed, so nothing is freed under a handler's or a
 * callback's feet.
 */
#include "engine/turn.h"
#include "engine/event.h"
#include "engine/timer.h"

_Thread_local struct nopal_world *nopal__turn_of;

bool nopal__turn_begin(struct nopal_world *world)
{
	if (world->in_core)
		return false;
	nopal__turn_enter(world);
	world->now_ns = world->ops->clock(world);
	return true;
}

void nopal__touch_first(struct nopal_composite *composite)
{
	struct nopal_world *world = composite->world;

	if (!nopal__be_awake(composite)) /* packed as of its last turn */
		return;
	composite->session.now_ns = world->now_ns;
	if (composite->life == NOPAL_LIFE_ENDED)
		return;
	nopal__session_ops.idle_watch(world);
	composite->touched = true;
	composite->next_touched = NULL;
	*world->touched_end = composite;
	world->touched_end = &composite->next_touched;
}

void nopal__bury(struct nopal_composite *bottom)
{
	struct nopal_world *world = bottom->world;

	if (bottom->buried)
		return;
	bottom->buried = true;
	bottom->next_ended = world->ended;
	world->ended = bottom;
}

/* A group goes after its destinations, a flow after its streams: all of them have ended with it. */
static void bury_last(struct nopal_world *world, struct nopal_composite *bottom)
{
	struct nopal_composite **at = &world->ended;

	while (*at)
		at = &(*at)->next_ended;
	*at = bottom;
	bottom->next_ended = NULL;
}

/* Freeing tells the application, who may touch other sessions, ended ones among them: so one at a
 * time, and round again. */
void nopal__turn_end(struct nopal_world *world, bool outermost)
{
	if (!outermost)
		return;
	do {
		struct nopal_composite *bottom, *top;

		while (world->touched) {
			struct nopal_composite *composite = world->touched;

			world->touched = composite->next_touched;
			if (!world->touched)
				world->touched_end = &world->touched;
			composite->touched = false;
			if (composite->life != NOPAL_LIFE_ENDED) {
				if (composite->awake->queue.count)
					nopal__drain_queue(composite);
				nopal_raise_TURN_END(&composite->session, &composite->session);
				if (composite->up->turn_end)
					composite->up->turn_end(composite);
			}
		}
		bottom = world->ended;
		if (bottom) {
			world->ended = bottom->next_ended;
			top = nopal__top(bottom);
			if ((bottom->down->in_use && bottom->down->in_use(bottom)) ||
			    (top->up->in_use && top->up->in_use(top)))
				bury_last(world, bottom);
			else
				nopal__session_ops.free_stack(bottom);
		}
	} while (world->touched || world->ended);
	nopal__endpoint_ops.flush(world);
	world->in_core = false;
	nopal__turn_of = NULL;
	world->ops->wake_at(world, nopal_wheel_next(&world->wheel));
}

static void wake(struct nopal_wheel_entry *entry)
{
	struct nopal_composite *composite =
		(void *)((char *)entry - offsetof(struct nopal_composite, wake));

	nopal__touch(composite);
	if (composite->life != NOPAL_LIFE_ENDED)
		nopal__timers_run(composite);
}

void nopal_batch_start(struct nopal_world *world)
{
	if (world->batches++ == 0)
		world->batch_outermost = nopal__turn_begin(world);
}

void nopal_batch_stop(struct nopal_world *world)
{
	if (--world->batches == 0)
		nopal__turn_end(world, world->batch_outermost);
}

void nopal__world_wake(struct nopal_world *world)
{
	struct nopal_wheel_entry *entry;

	nopal__turn_enter(world);
	while ((entry = nopal_wheel_expire(&world->wheel, world->now_ns))) {
		if (entry == &world->idle) {
			nopal__session_ops.idle_walk(world);
			continue;
		}
		wake(entry);
	}
	nopal__turn_end(world, true);
}

int64_t nopal__world_next(const struct nopal_world *world)
{
	return nopal_wheel_next(&world->wheel);
}
