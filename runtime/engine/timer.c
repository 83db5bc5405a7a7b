/* SPDX-License-Identifier: MIT */
/*
 * timer.c -- a session's timers: the declared ones of its microprotocols, the delayed raises, and
 * the runtime's own.  The session has one entry in the wheel; it moves only when a deadline becomes
 * the earliest, so that starting a later timer, or stopping one, costs a store.
 */
#include "engine/timer.h"
#include "engine/event.h"

static uint32_t timer_count(const struct nopal_core *core)
{
	return nopal__layer(core)->timer_count + NOPAL_TIMERS_OWN;
}

/* What is due already waits for the next wake-up, in the next tick: a timer that is started again
 * and again for now cannot stop time. */
void nopal__wake_by(struct nopal_core *core, int64_t deadline_ns)
{
	if (deadline_ns <= core->world->now_ns)
		deadline_ns = core->world->now_ns + 1;
	if (core->wake.at && core->wake.deadline_ns <= deadline_ns)
		return;
	nopal_wheel_arm(&core->world->wheel, &core->wake, deadline_ns);
	if (!core->world->in_core)
		core->world->ops->wake_at(core->world, deadline_ns);
}

static void timer_set(struct nopal_core *core, uint32_t index, int64_t deadline_ns)
{
	core->awake->timers[index].deadline_ns = deadline_ns;
	core->awake->timers[index].order = ++core->awake->timer_order;
	nopal__wake_by(core, deadline_ns);
}

void nopal_timer_start(struct nopal_at at, unsigned which, int64_t deadline_ns)
{
	timer_set(nopal__core(at.session), at.part->first_timer + which, deadline_ns);
}

void nopal_timer_stop(struct nopal_at at, unsigned which)
{
	nopal__core(at.session)->awake->timers[at.part->first_timer + which].deadline_ns =
		NOPAL_NEVER;
}

bool nopal_timer_running(struct nopal_at at, unsigned which)
{
	const struct nopal_timer_state *timers = nopal__core(at.session)->awake->timers;

	return timers[at.part->first_timer + which].deadline_ns != NOPAL_NEVER;
}

static void wake_for_rest(struct nopal_core *core);

/* ---------------------------------------------------------------- watchdog */

/* The next look: for long holds, and whether the peer fell silent. */
static void watch_on(struct nopal_core *core, uint32_t index)
{
	int64_t look_ns = core->session.now_ns + NOPAL_WATCH_NS;

	timer_set(core, index, core->awake->bark_ns < look_ns ? core->awake->bark_ns : look_ns);
}

static __attribute__((noinline)) void watch_begin(struct nopal_core *core, uint32_t index)
{
	core->awake->bark_ns = core->session.now_ns + core->awake->budget.hold_ns;
	watch_on(core, index);
}

void nopal__watchdog_start(struct nopal_core *core)
{
	uint32_t index = nopal__layer(core)->timer_count + NOPAL_TIMER_WATCHDOG;

	if (core->awake->timers[index].deadline_ns == NOPAL_NEVER)
		watch_begin(core, index);
}

/* Names whoever holds back a segment that has waited too long, once a round. */
static void watchdog_bark(struct nopal_core *core)
{
	int64_t patience = core->awake->budget.hold_ns;

	for (const struct nopal_segment *segment = nopal__pool_oldest(&core->awake->segments);
	     segment; segment = nopal__pool_newer(segment)) {
		if (!segment->wanted || core->session.now_ns - segment->created_ns < patience)
			continue;
		core->awake->counters.long_holds++;
		nopal__note(core, NOPAL_NOTE_LONG_HOLD, segment->number,
			    segment->waiting[NOPAL_SEND]);
	}
	core->awake->bark_ns = core->session.now_ns + patience;
}

/* As long as something is under way. */
static void watch(struct nopal_core *core)
{
	if (!core->awake->segments.alive)
		return;
	if (core->session.now_ns >= core->awake->bark_ns)
		watchdog_bark(core);
	if (core->down->watch)
		core->down->watch(core);
	watch_on(core, nopal__layer(core)->timer_count + NOPAL_TIMER_WATCHDOG);
}

void nopal__watchdog_stop(struct nopal_core *core)
{
	uint32_t index = nopal__layer(core)->timer_count + NOPAL_TIMER_WATCHDOG;

	core->awake->timers[index] = (struct nopal_timer_state){ .deadline_ns = NOPAL_NEVER };
	core->awake->bark_ns = 0;
	nopal_wheel_disarm(&core->world->wheel, &core->wake);
	wake_for_rest(core);
}

/* ----------------------------------------------------------------- silence */

void nopal__silence_watch(struct nopal_core *core)
{
	timer_set(core, nopal__layer(core)->timer_count + NOPAL_TIMER_SILENCE,
		  core->awake->heard_ns + NOPAL_SILENCE_NS);
}

/* Nothing is under way: a good end, where no handshake says when.  Else what is under way has lost
 * its peer. */
static void silence_end(struct nopal_core *core)
{
	for (struct nopal_core *each = core; each; each = nopal__over(each))
		if (each->awake && each->awake->unfinished) {
			nopal__session_ops.end(core, NOPAL_PEER_LOST,
					       "the peer is silent, and messages wait");
			return;
		}
	nopal__session_ops.end(core, NOPAL_ENDED_WELL, "the peer is silent");
}

static void own_timer_fire(struct nopal_core *core, uint32_t which)
{
	if (which == NOPAL_TIMER_WATCHDOG)
		watch(core);
	else if (core->session.now_ns - core->awake->heard_ns < NOPAL_SILENCE_NS)
		nopal__silence_watch(core);
	else
		silence_end(core);
}

/* ------------------------------------------------------------------ expiry */

static void timer_fire(struct nopal_core *core, uint32_t index)
{
	const struct nopal_part *const *outer = core->running;
	const struct nopal_timer_plan *timer;

	core->awake->timers[index].deadline_ns = NOPAL_NEVER;
	if (index >= nopal__layer(core)->timer_count) {
		own_timer_fire(core, index - nopal__layer(core)->timer_count);
		return;
	}
	timer = &core->layer->timers[index];
	nopal__record(core, NOPAL_TRACED_TIMER, timer->part->index, (uint16_t)index, 0, 0);
	core->running = &timer->part;
	timer->timer->expired((struct nopal_at){ &core->session, timer->part });
	core->running = outer;
}

/* The declared timer that is due first, ties by start; -1: none is. */
static int64_t timer_due(const struct nopal_core *core)
{
	const struct nopal_timer_state *best = NULL;

	for (uint32_t i = 0; i < timer_count(core); i++) {
		const struct nopal_timer_state *timer = &core->awake->timers[i];

		if (timer->deadline_ns > core->session.now_ns)
			continue;
		if (!best || timer->deadline_ns < best->deadline_ns ||
		    (timer->deadline_ns == best->deadline_ns && timer->order < best->order))
			best = timer;
	}
	return best ? best - core->awake->timers : -1;
}

static bool delayed_due(struct nopal_core *core, struct nopal_deferred *ret_deferred)
{
	struct nopal_deferred_list *list = &core->awake->delayed;
	const struct nopal_deferred *best = NULL;

	for (uint32_t i = 0; i < list->count; i++) {
		const struct nopal_deferred *at = &list->entries[(list->head + i) % list->room];

		if (at->deadline_ns <= core->session.now_ns &&
		    (!best || at->deadline_ns < best->deadline_ns))
			best = at;
	}
	if (!best)
		return false;
	*ret_deferred = *best;
	nopal_cancel(&core->session, best->token);
	return true;
}

static int64_t earliest(const struct nopal_core *core)
{
	const struct nopal_deferred_list *list = &core->awake->delayed;
	int64_t when = NOPAL_NEVER;

	for (uint32_t i = 0; i < timer_count(core); i++)
		if (core->awake->timers[i].deadline_ns < when)
			when = core->awake->timers[i].deadline_ns;
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[(list->head + i) % list->room].deadline_ns < when)
			when = list->entries[(list->head + i) % list->room].deadline_ns;
	return when;
}

static void wake_for_rest(struct nopal_core *core)
{
	int64_t when = core->life == NOPAL_LIFE_ENDED ? NOPAL_NEVER : earliest(core);

	if (when != NOPAL_NEVER)
		nopal__wake_by(core, when);
}

/* One wake-up fires each timer at most once. */
void nopal__timers_run(struct nopal_core *core)
{
	uint64_t newest = core->awake->timer_order;
	struct nopal_deferred deferred;
	int64_t index;

	while (core->life != NOPAL_LIFE_ENDED && (index = timer_due(core)) >= 0) {
		if (core->awake->timers[index].order > newest)
			break;
		timer_fire(core, (uint32_t)index);
	}
	while (core->life != NOPAL_LIFE_ENDED && delayed_due(core, &deferred))
		nopal__run_deferred(core, &deferred);
	wake_for_rest(core);
}
