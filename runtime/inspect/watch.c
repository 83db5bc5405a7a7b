/* SPDX-License-Identifier: MIT */
/*
 * watch.c -- a plan is watched: its calls and timers lead through here.
 *
 *   calls of the plan --> watched_EVENT() --> the handler
 *                              |  before and after: watch_deeds.c
 *   records of the trace ------+  meanwhile: raises, releases, transmissions
 *
 * The tables of the plan are changed once, before its first session, so that events, timers and
 * sessions know nothing of it.  Each call has a part of its own, which looks like the part that it
 * leads to.
 */

#include <errno.h>
#include <string.h>

#include "inspect/watching.h"

enum { NESTED_DEPTH = 20 }; /* the runtime breaks a session at 32 */

/* A call as the runtime makes it, and the handler's call that stands behind it. */
struct watched_call {
	struct nopal_part part; /* first: the call is known by it */
	struct nopal_call behind;
};
struct watched_timer {
	struct nopal_part part; /* the same */
	struct nopal_timer shown;
	struct nopal_timer_plan behind;
};
struct watched_tables {
	struct nopal_call *shown;
	struct watched_call *calls;
	struct watched_timer *timers;
};

static const char *const deed_texts[] = {
#define DEED_TEXT(name, text) text,
	NOPAL_DEEDS(DEED_TEXT)
#undef DEED_TEXT
};

const char *nopal_deed_text(unsigned deed)
{
	return deed < NOPAL_DEED_COUNT ? deed_texts[deed] : NULL;
}

/* ----------------------------------------------------------------------- runs */

static struct nopal_watched_run *watch_top(struct nopal_watch *watch)
{
	return watch->depth ? &watch->run[watch->depth - 1] : NULL;
}

/* NULL: nobody watches, or runs are nested too deep. */
static struct nopal_watch *run_begin(struct nopal_at at, enum nopal_event event,
				     struct nopal_segment *segment, struct nopal_message *message)
{
	const struct nopal_tracer *tracer = nopal__composite(at.session)->world->tracer;
	struct nopal_watch *watch = tracer ? (struct nopal_watch *)tracer->listener : NULL;
	struct nopal_watched_run *run;

	if (!watch || watch->depth == NOPAL_WATCH_DEPTH)
		return NULL;
	if (watch->depth)
		nopal__watch_judge(watch, watch_top(watch));
	run = &watch->run[watch->depth];
	run->composite = nopal__composite(at.session);
	run->part = at.part;
	run->rights = &watch->rights[at.part->index];
	run->event = event;
	run->segment = segment;
	run->message = message;
	run->acts = watch->acts;
	run->settled = message && message->settled;
	nopal__watch_look(run);
	nopal__watch_begin(watch, run);
	watch->depth++;
	return watch;
}

static void run_end(struct nopal_watch *watch, bool stopped)
{
	struct nopal_watched_run *run = watch_top(watch);

	nopal__watch_judge(watch, run);
	nopal__watch_ended(watch, run, stopped);
	watch->depth--;
	if (watch->depth)
		nopal__watch_look(watch_top(watch));
}

#define AS_SEGMENT(subject) _Generic((subject), struct nopal_segment * : (subject), default : NULL)
#define AS_MESSAGE(subject) _Generic((subject), struct nopal_message * : (subject), default : NULL)

#define EVENT(name, type, doc)                                                                     \
	static enum nopal_verdict watched_##name(struct nopal_at at, type *subject)                \
	{                                                                                          \
		const struct nopal_call *behind = &((const struct watched_call *)at.part)->behind; \
		struct nopal_watch *watch =                                                        \
			run_begin((struct nopal_at){ at.session, behind->part }, NOPAL_##name,     \
				  AS_SEGMENT(subject), AS_MESSAGE(subject));                       \
		enum nopal_verdict verdict =                                                       \
			behind->run.name((struct nopal_at){ at.session, behind->part }, subject);  \
                                                                                                   \
		if (watch)                                                                         \
			run_end(watch, verdict == NOPAL_STOP);                                     \
		return verdict;                                                                    \
	}
#include <nopal/events.def>
#undef EVENT

static void watched_expired(struct nopal_at at)
{
	const struct nopal_timer_plan *behind = &((const struct watched_timer *)at.part)->behind;
	struct nopal_watch *watch = run_begin((struct nopal_at){ at.session, behind->part },
					      NOPAL_NO_EVENT, NULL, NULL);

	behind->timer->expired((struct nopal_at){ at.session, behind->part });
	if (watch)
		run_end(watch, false);
}

/* --------------------------------------------------------------------- tables */

static union nopal_handler watched_handler(unsigned event)
{
	union nopal_handler handler = { 0 };

	switch (event) {
#define EVENT(name, type, doc)                                                                     \
	case NOPAL_##name:                                                                         \
		handler.name = watched_##name;                                                     \
		break;
#include <nopal/events.def>
#undef EVENT
	default:
		break;
	}
	return handler;
}

/* Returns the next free place. */
static size_t calls_lead(struct nopal_calls *calls, unsigned event,
			 const struct watched_tables *tables, size_t at)
{
	struct nopal_call *shown = &tables->shown[at];

	for (uint32_t i = 0; i < calls->count; i++, at++) {
		tables->calls[at].part = *calls->call[i].part;
		tables->calls[at].behind = calls->call[i];
		tables->shown[at].run = watched_handler(event);
		tables->shown[at].part = &tables->calls[at].part;
	}
	calls->call = shown;
	return at;
}

void nopal__watched_free(struct watched_tables *tables)
{
	if (!tables)
		return;
	free(tables->shown);
	free(tables->calls);
	free(tables->timers);
	free(tables);
}

static int plan_lead(struct nopal_plan *plan)
{
	struct watched_tables *tables = calloc(1, sizeof(*tables));
	size_t calls = 1, timers = 1, call = 0, timer = 0;

	if (!tables)
		return -ENOMEM;
	for (uint32_t l = 0; l < plan->layer_count; l++) {
		for (unsigned event = 0; event < NOPAL_EVENT_COUNT; event++)
			for (unsigned kind = 0; kind < NOPAL_KIND_ROOM; kind++)
				calls += plan->layers[l].calls[event][kind].count;
		timers += plan->layers[l].timer_count;
	}
	tables->shown = calloc(calls, sizeof(*tables->shown));
	tables->calls = calloc(calls, sizeof(*tables->calls));
	tables->timers = calloc(timers, sizeof(*tables->timers));
	if (!tables->shown || !tables->calls || !tables->timers) {
		nopal__watched_free(tables);
		return -ENOMEM;
	}
	nopal_plan_interpret(plan);
	plan->watched = tables;
	for (uint32_t l = 0; l < plan->layer_count; l++) {
		struct nopal_layer *layer = &plan->layers[l];

		for (unsigned event = 0; event < NOPAL_EVENT_COUNT; event++)
			for (unsigned kind = 0; kind < NOPAL_KIND_ROOM; kind++)
				call = calls_lead(&layer->calls[event][kind], event, tables, call);
		for (uint32_t i = 0; i < layer->timer_count; i++, timer++) {
			struct watched_timer *one = &tables->timers[timer];

			one->behind = layer->timers[i];
			one->part = *one->behind.part;
			one->shown =
				(struct nopal_timer){ one->behind.timer->name, watched_expired };
			layer->timers[i].timer = &one->shown;
			layer->timers[i].part = &one->part;
		}
	}
	plan->watched_free = nopal__watched_free;
	return 0;
}

/* -------------------------------------------------------------------- records */

static void record_release(struct nopal_watch *watch, struct nopal_watched_run *run, uint8_t part,
			   unsigned barrier, uint64_t number, uint32_t left)
{
	if (run->part->index != part)
		watch->count[run->part->index][NOPAL_DEED_HOLD]++;
	if (barrier < NOPAL_BARRIERS && ((run->segment && run->segment->number == number) ||
					 (run->message && run->message->number == number)))
		run->waiting[barrier] = left;
}

static void watch_record(struct nopal_trace_listener *listener, enum nopal_trace_what what,
			 uint8_t part, uint16_t number, uint64_t a, uint64_t b)
{
	struct nopal_watch *watch = (struct nopal_watch *)listener;
	struct nopal_watched_run *run = watch_top(watch);
	const struct nopal_watched_run *by;
	const struct nopal_kind_plan *kind;

	watch->acts++;
	if (what == NOPAL_TRACED_RAISE) {
		by = nopal__watch_raiser(watch, b);
		nopal__watch_raise(watch, by, (enum nopal_event)number);
		if (by && b >= NESTED_DEPTH)
			watch->count[by->part->index][NOPAL_DEED_NESTED]++;
	} else if (what == NOPAL_TRACED_TRANSMIT) {
		kind = &watch->plan->kinds[number];
		if (number >= NOPAL_KIND_FIRST_OWN && kind->part &&
		    kind->class != NOPAL_KIND_CARRIED)
			watch->count[kind->part->index][NOPAL_DEED_CONTROL]++;
	} else if (what == NOPAL_TRACED_NOTE && number == NOPAL_NOTE_MISUSE) {
		if (part == NOPAL_TRACE_RUNTIME && run)
			part = run->part->index;
		if (part != NOPAL_TRACE_RUNTIME)
			watch->count[part][NOPAL_DEED_MISUSE]++;
	} else if (run && what == NOPAL_TRACED_RELEASE) {
		record_release(watch, run, part, number, a, (uint32_t)b);
	} else if (run && what == NOPAL_TRACED_HOLD) {
		record_release(watch, run, run->part->index, number, a, (uint32_t)b);
	} else if (run && what == NOPAL_TRACED_DELIVER) {
		/* Others hold what is delivered, and it is the subject of who runs. */
		if (run->message && run->message->number == a &&
		    run->message->waiting & ~run->part->hold[NOPAL_DELIVER])
			watch->count[run->part->index][NOPAL_DEED_EARLY]++;
	}
}

/* ----------------------------------------------------------------------- life */

static uint64_t written_attributes(const struct nopal_part *part)
{
	const struct nopal_attribute *one = part->microprotocol->attributes;
	uint64_t slots = 0;

	for (unsigned i = 0; one && one[i].name; i++)
		if (one[i].access == NOPAL_WRITE || one[i].access == NOPAL_PROPERTY)
			slots |= UINT64_C(1) << part->attribute[i];
	return slots & ~UINT64_C(1);
}

static uint64_t written_shared(const struct nopal_part *part)
{
	const struct nopal_shared *one = part->microprotocol->shared;
	uint64_t slots = 0;

	for (unsigned i = 0; one && one[i].name; i++)
		if (one[i].access == NOPAL_WRITE)
			slots |= UINT64_C(1) << part->shared[i] % NOPAL_WATCH_SHARED;
	return slots;
}

static void watch_free(struct nopal_trace_listener *listener)
{
	struct nopal_watch *watch = (struct nopal_watch *)listener;

	nopal_plan_unref(watch->plan);
	for (uint32_t i = 0; i < watch->sightings.room; i++)
		free(watch->sightings.slots[i].value);
	nopal_free(NULL, watch->sightings.slots);
	free(watch);
}

int nopal_watch_start(struct nopal_world *world, struct nopal_plan *plan, bool both_ends)
{
	int error = world->tracer ? 0 : nopal_trace_start(world, NULL, NOPAL_TRACE_PACKETS);
	struct nopal_watch *watch;

	if (error)
		return error;
	if (world->tracer->listener)
		return -EALREADY;
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return -ENOMEM;
	if (!plan->watched)
		error = plan_lead(plan);
	if (error) {
		free(watch);
		return error;
	}
	watch->plan = nopal_plan_ref(plan);
	watch->both_ends = both_ends;
	for (uint32_t l = 0; l < plan->layer_count; l++) {
		const struct nopal_layer *layer = &plan->layers[l];
		const struct nopal_part *part = &plan->parts[layer->first_part];
		uint64_t written = 0;

		/* An attribute that no part of the layer writes is the runtime's or another
		 * layer's; a format reads the attributes that all parts write. */
		for (uint32_t p = 0; p < layer->part_count; p++)
			written |= written_attributes(&part[p]);
		for (uint32_t p = 0; p < layer->part_count; p++)
			watch->rights[part[p].index] = (struct nopal_rights){
				.shared = written_shared(&part[p]),
				.forbidden = part[p].microprotocol->format
						     ? 0
						     : written & ~written_attributes(&part[p]),
			};
	}
	watch->listener = (struct nopal_trace_listener){ watch_record, watch_free };
	world->tracer->listener = &watch->listener;
	return 0;
}

void nopal_watch_visit(struct nopal_world *world,
		       void (*visit)(const struct nopal_conduct *conduct, void *user), void *user)
{
	const struct nopal_watch *watch =
		world->tracer ? (struct nopal_watch *)world->tracer->listener : NULL;

	if (!watch)
		return;
	for (uint32_t l = 0; l < watch->plan->layer_count; l++) {
		const struct nopal_layer *layer = &watch->plan->layers[l];

		for (uint32_t p = 0; p < layer->part_count; p++) {
			unsigned index = layer->first_part + p;
			struct nopal_conduct conduct = {
				.layer = layer->name,
				.microprotocol = watch->plan->parts[index].microprotocol->name,
			};

			memcpy(conduct.count, watch->count[index], sizeof(conduct.count));
			nopal__watch_lost(watch, index, conduct.count);
			visit(&conduct, user);
		}
	}
}
