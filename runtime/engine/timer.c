/* SPDX-License-Identifier: MIT */
/*
 * timer.c -- a session's timers: the declared ones of its microprotocols, the delayed raises, and
 * the runtime's own.  The session has one entry in the wheel; it moves only when a deadline becomes
 * the earliest, so that starting a later timer, or stopping one, costs a store.
 */
#include "engine/timer.h"
#include "engine/event.h"

static uint32_t timer_count(const struct nopal_composite *composite)
{
	return nopal__layer(composite)->timer_count + NOPAL_TIMERS_OWN;
}

/* A deadline that has passed waits for the next wake-up, in the next tick: a timer that is started
 * again and again for now cannot stop time. */
void nopal__wake_by(struct nopal_composite *composite, int64_t deadline_ns)
{
	if (deadline_ns <= composite->world->now_ns)
		deadline_ns = composite->world->now_ns + 1;
	if (composite->wake.at && composite->wake.deadline_ns <= deadline_ns)
		return;
	nopal_wheel_arm(&composite->world->wheel, &composite->wake, deadline_ns);
	if (!composite->world->in_core)
		composite->world->ops->wake_at(composite->world, deadline_ns);
}

static void timer_set(struct nopal_composite *composite, uint32_t index, int64_t deadline_ns)
{
	composite->awake->timers[index].deadline_ns = deadline_ns;
	composite->awake->timers[index].order = ++composite->awake->timer_order;
	nopal__wake_by(composite, deadline_ns);
}

void nopal_timer_start(struct nopal_at at, unsigned which, int64_t deadline_ns)
{
	timer_set(nopal__composite(at.session), at.part->first_timer + which, deadline_ns);
}

void nopal_timer_stop(struct nopal_at at, unsigned which)
{
	nopal__composite(at.session)->awake->timers[at.part->first_timer + which].deadline_ns =
		NOPAL_NEVER;
}

bool nopal_timer_running(struct nopal_at at, unsigned which)
{
	const struct nopal_timer_state *timers = nopal__composite(at.session)->awake->timers;

	return timers[at.part->first_timer + which].deadline_ns != NOPAL_NEVER;
}

/* By the earliest of the deadlines. */
static void wake_for_next(struct nopal_composite *composite)
{
	const struct nopal_deferred_list *list = &composite->awake->delayed;
	int64_t when = NOPAL_NEVER;

	for (uint32_t i = 0; i < timer_count(composite); i++)
		if (composite->awake->timers[i].deadline_ns < when)
			when = composite->awake->timers[i].deadline_ns;
	for (uint32_t i = 0; i < list->count; i++)
		if (list->entries[(list->head + i) % list->room].deadline_ns < when)
			when = list->entries[(list->head + i) % list->room].deadline_ns;
	if (when != NOPAL_NEVER && composite->life != NOPAL_LIFE_ENDED)
		nopal__wake_by(composite, when);
}

/* ---------------------------------------------------------------- watchdog */

/* The next look: for long holds, and whether the peer fell silent. */
static void watch_on(struct nopal_composite *composite, uint32_t index)
{
	int64_t look_ns = composite->session.now_ns + NOPAL_WATCH_NS;

	timer_set(composite, index,
		  composite->awake->bark_ns < look_ns ? composite->awake->bark_ns : look_ns);
}

static __attribute__((noinline)) void watch_begin(struct nopal_composite *composite, uint32_t index)
{
	composite->awake->bark_ns = composite->session.now_ns + composite->awake->budget.hold_ns;
	watch_on(composite, index);
}

void nopal__watchdog_start(struct nopal_composite *composite)
{
	uint32_t index = nopal__layer(composite)->timer_count + NOPAL_TIMER_WATCHDOG;

	if (composite->awake->timers[index].deadline_ns == NOPAL_NEVER)
		watch_begin(composite, index);
}

/* As long as something is under way.  Names whoever holds back a segment that has waited too long,
 * once a round. */
static void watch(struct nopal_composite *composite)
{
	const struct nopal_segment *segment;
	int64_t patience = composite->awake->budget.hold_ns;

	if (!composite->awake->segments.alive)
		return;
	if (composite->session.now_ns >= composite->awake->bark_ns) {
		for (segment = nopal__pool_oldest(&composite->awake->segments); segment;
		     segment = nopal__pool_newer(segment)) {
			if (!segment->wanted ||
			    composite->session.now_ns - segment->created_ns < patience)
				continue;
			composite->awake->counters.long_holds++;
			nopal__note(composite, NOPAL_NOTE_LONG_HOLD, segment->number,
				    segment->waiting[NOPAL_SEND]);
		}
		composite->awake->bark_ns = composite->session.now_ns + patience;
	}
	if (composite->down->watch)
		composite->down->watch(composite);
	watch_on(composite, nopal__layer(composite)->timer_count + NOPAL_TIMER_WATCHDOG);
}

void nopal__watchdog_stop(struct nopal_composite *composite)
{
	uint32_t index = nopal__layer(composite)->timer_count + NOPAL_TIMER_WATCHDOG;

	composite->awake->timers[index] = (struct nopal_timer_state){ .deadline_ns = NOPAL_NEVER };
	composite->awake->bark_ns = 0;
	nopal_wheel_disarm(&composite->world->wheel, &composite->wake);
	wake_for_next(composite);
}

/* ----------------------------------------------------------------- silence */

void nopal__silence_watch(struct nopal_composite *composite)
{
	timer_set(composite, nopal__layer(composite)->timer_count + NOPAL_TIMER_SILENCE,
		  composite->awake->heard_ns + NOPAL_SILENCE_NS);
}

/* Long enough, and nothing is under way: a good end, where no handshake says when.  Else what is
 * under way has lost its peer. */
static void silence(struct nopal_composite *composite)
{
	if (composite->session.now_ns - composite->awake->heard_ns < NOPAL_SILENCE_NS) {
		nopal__silence_watch(composite);
		return;
	}
	for (struct nopal_composite *each = composite; each; each = nopal__over(each))
		if (each->awake && each->awake->unfinished) {
			nopal__session_ops.end(composite, NOPAL_PEER_LOST,
					       "the peer is silent, and messages wait");
			return;
		}
	nopal__session_ops.end(composite, NOPAL_ENDED_WELL, "the peer is silent");
}

/* ------------------------------------------------------------------ expiry */

static void timer_fire(struct nopal_composite *composite, uint32_t index)
{
	const struct nopal_part *const *outer = composite->awake->running;
	const struct nopal_timer_plan *timer;

	composite->awake->timers[index].deadline_ns = NOPAL_NEVER;
	if (index >= nopal__layer(composite)->timer_count) {
		if ((index - nopal__layer(composite)->timer_count) == NOPAL_TIMER_WATCHDOG)
			watch(composite);
		else
			silence(composite);
		return;
	}
	timer = &composite->layer->timers[index];
	nopal__record(composite, NOPAL_TRACED_TIMER, timer->part->index, (uint16_t)index, 0, 0);
	composite->awake->running = &timer->part;
	timer->timer->expired((struct nopal_at){ &composite->session, timer->part });
	composite->awake->running = outer;
}

/* The declared timer that is due first, ties by start; -1: none is. */
static int64_t timer_due(const struct nopal_composite *composite)
{
	const struct nopal_timer_state *best = NULL;

	for (uint32_t i = 0; i < timer_count(composite); i++) {
		const struct nopal_timer_state *timer = &composite->awake->timers[i];

		if (timer->deadline_ns > composite->session.now_ns)
			continue;
		if (!best || timer->deadline_ns < best->deadline_ns ||
		    (timer->deadline_ns == best->deadline_ns && timer->order < best->order))
			best = timer;
	}
	return best ? best - composite->awake->timers : -1;
}

/* One wake-up fires each timer at most once. */
void nopal__timers_run(struct nopal_composite *composite)
{
	uint64_t newest = composite->awake->timer_order;
	struct nopal_deferred deferred;
	int64_t index;

	while (composite->life != NOPAL_LIFE_ENDED && (index = timer_due(composite)) >= 0) {
		if (composite->awake->timers[index].order > newest)
			break;
		timer_fire(composite, (uint32_t)index);
	}
	while (composite->life != NOPAL_LIFE_ENDED) {
		const struct nopal_deferred_list *list = &composite->awake->delayed;
		const struct nopal_deferred *best = NULL, *at;

		for (uint32_t i = 0; i < list->count; i++) {
			at = &list->entries[(list->head + i) % list->room];
			if (at->deadline_ns <= composite->session.now_ns &&
			    (!best || at->deadline_ns < best->deadline_ns))
				best = at;
		}
		if (!best)
			break;
		deferred = *best;
		nopal_cancel(&composite->session, deferred.token);
		nopal__run_deferred(composite, &deferred);
	}
	wake_for_next(composite);
}
