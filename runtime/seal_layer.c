/* SPDX-License-Identifier: MIT */
/*
 * seal_layer.c -- the flat arrays of one layer: shared variables, hold bits, calls
 * of each event, states and timers; and a fresh session of it, of which each one
 * begins as a copy.
 */
#include <string.h>

#include "compose.h"
#include "seal.h"
#include "session.h"
#include "text.h"

enum {
	ALIGNMENT = 16,
	HANDLER_ROOM = 256, /* bindings of one event in a layer */
};

static uint32_t align(size_t bytes)
{
	return (uint32_t)((bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
}

/* ------------------------------------------------------------ shared variables */

static uint32_t shared_find(const struct nopal_layer *layer, const char *name)
{
	uint32_t i = 0;

	while (i < layer->shared_count &&
	       strcmp(layer->shared_name[i], name) != 0)
		i++;
	return i;
}

static void shared_add(struct nopal_layer *layer,
		       const struct nopal_shared *shared)
{
	uint32_t i = shared_find(layer, shared->name);

	if (i < layer->shared_count) {
		if (shared->access == NOPAL_WRITE)
			layer->shared_initial[i] = shared->initial;
		return;
	}
	layer->shared_name = realloc(layer->shared_name,
				     (i + 1) * sizeof(*layer->shared_name));
	layer->shared_initial =
		realloc(layer->shared_initial,
			(i + 1) * sizeof(*layer->shared_initial));
	if (!layer->shared_name || !layer->shared_initial)
		abort();
	layer->shared_name[i] = shared->name;
	layer->shared_initial[i] = shared->initial;
	layer->shared_count++;
}

static void seal_shared(struct nopal_layer *layer, struct nopal_part *parts)
{
	for (uint32_t p = 0; p < layer->part_count; p++) {
		const struct nopal_shared *shared =
			parts[p].microprotocol->shared;

		for (unsigned i = 0; shared && shared[i].name; i++)
			shared_add(layer, &shared[i]);
	}
	for (uint32_t p = 0; p < layer->part_count; p++) {
		const struct nopal_shared *shared =
			parts[p].microprotocol->shared;

		for (unsigned i = 0; shared && shared[i].name; i++)
			parts[p].shared[i] =
				(uint8_t)shared_find(layer, shared[i].name);
	}
}

/* ---------------------------------------------------------------- hold bits */

static unsigned hold_bit(struct nopal_layer *layer, struct nopal_part *part,
			 const struct nopal_hold *hold)
{
	unsigned bit = 0;

	while (layer->hold_part[hold->barrier][bit] &&
	       layer->hold_part[hold->barrier][bit] != part)
		bit++;
	if (!layer->hold_part[hold->barrier][bit])
		layer->hold_why[hold->barrier][bit] = hold->why;
	layer->hold_part[hold->barrier][bit] = part;
	return bit;
}

static void hold_on_kind(struct nopal_layer *layer,
			 const struct nopal_hold *hold, uint8_t code,
			 uint32_t mask)
{
	layer->hold[hold->barrier][code] |= mask;
	if (hold->barrier == NOPAL_SEND && !hold->sticky)
		layer->rearm[code] |= mask;
}

static void seal_holds(const struct nopal_plan *plan, struct nopal_layer *layer,
		       struct nopal_part *part)
{
	const struct nopal_hold *hold = part->microprotocol->holds;

	for (; hold && hold->why; hold++) {
		uint32_t mask = UINT32_C(1) << hold_bit(layer, part, hold);

		part->hold[hold->barrier] = mask;
		layer->tracks |= hold->barrier == NOPAL_FINISH;
		if (hold->barrier == NOPAL_DELIVER) {
			layer->deliver |= mask;
			continue;
		}
		for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++)
			if (nopal__kind_wanted(plan, part, hold->kinds, code))
				hold_on_kind(layer, hold, code, mask);
	}
}

/* ------------------------------------------------------------------- calls */

/* The part that a binding's handler sees: with an argument, a copy that has it. */
static const struct nopal_part *seal_argued(struct nopal_plan *plan,
					    const struct nopal_part *part,
					    const void *argument)
{
	struct nopal_part *copy;

	if (!argument)
		return part;
	for (uint32_t i = 0; i < plan->argued_count; i++)
		if (plan->argued[i]->index == part->index &&
		    plan->argued[i]->argument == argument)
			return plan->argued[i];
	plan->argued = nopal__one_more(plan->argued, plan->argued_count,
				       sizeof(*plan->argued));
	copy = nopal__zeroed(1, sizeof(*copy));
	*copy = *part;
	copy->argument = argument;
	plan->argued[plan->argued_count++] = copy;
	return copy;
}

static uint32_t calls_of_kind(struct nopal_plan *plan,
			      const struct nopal_layer *layer,
			      const struct nopal_ordered *order, size_t count,
			      uint8_t code, struct nopal_call *ret_calls)
{
	uint32_t made = 0;

	for (size_t i = 0; i < count; i++) {
		const struct nopal_part *part =
			&plan->parts[layer->first_part + order[i].member];
		const struct nopal_binding *binding =
			&part->microprotocol->bindings[order[i].binding];

		if (nopal__kind_wanted(plan, part, binding->kinds, code))
			ret_calls[made++] = (struct nopal_call){
				binding->run,
				seal_argued(plan, part, binding->argument),
			};
	}
	return made;
}

/* Calls are stored behind one another; the table points into the store. */
static void seal_event(struct nopal_plan *plan, struct nopal_layer *layer,
		       const struct nopal_composed_layer *composed,
		       unsigned event, uint32_t *used, uint32_t *room)
{
	struct nopal_ordered order[HANDLER_ROOM];
	size_t count = nopal__compose_order(composed, (enum nopal_event)event,
					    NULL, NULL, order, HANDLER_ROOM);
	uint8_t kinds = nopal__about_segments(event) ? NOPAL_KIND_ROOM : 1;

	if (count > HANDLER_ROOM)
		count = HANDLER_ROOM;
	for (uint8_t code = 0; code < kinds; code++) {
		if (*used + count > *room) {
			*room = (*room + (uint32_t)count) * 2;
			layer->call_store =
				realloc(layer->call_store,
					*room * sizeof(struct nopal_call));
			if (!layer->call_store)
				abort();
		}
		layer->calls[event][code].count =
			calls_of_kind(plan, layer, order, count, code,
				      layer->call_store + *used);
		*used += layer->calls[event][code].count;
	}
}

static void seal_calls(struct nopal_plan *plan, struct nopal_layer *layer,
		       const struct nopal_composed_layer *composed)
{
	uint32_t used = 0, room = HANDLER_ROOM;

	layer->call_store = calloc(room, sizeof(struct nopal_call));
	if (!layer->call_store)
		abort();
	for (unsigned event = 1; event < NOPAL_EVENT_COUNT; event++)
		seal_event(plan, layer, composed, event, &used, &room);
	used = 0;
	for (unsigned event = 1; event < NOPAL_EVENT_COUNT; event++)
		for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++) {
			layer->calls[event][code].call =
				layer->call_store + used;
			used += layer->calls[event][code].count;
		}
}

/* ------------------------------------------------------------ states, timers */

static void seal_timers(struct nopal_layer *layer, struct nopal_part *part)
{
	const struct nopal_timer *timer = part->microprotocol->timers;

	part->first_timer = (uint8_t)layer->timer_count;
	for (; timer && timer->name; timer++) {
		layer->timers =
			realloc(layer->timers, (layer->timer_count + 1) *
						       sizeof(*layer->timers));
		if (!layer->timers)
			abort();
		layer->timers[layer->timer_count++] =
			(struct nopal_timer_plan){ timer, part };
	}
}

static void seal_states(const struct nopal_plan *plan,
			struct nopal_layer *layer, struct nopal_part *parts)
{
	uint32_t at = align(sizeof(struct nopal_awake));

	for (uint32_t p = 0; p < layer->part_count; p++) {
		parts[p].state = at;
		at += align(parts[p].microprotocol->state_size);
	}
	layer->shared_at = at;
	at += layer->shared_count * (uint32_t)sizeof(int64_t);
	layer->serial_at = at;
	at += plan->serial_count * (uint32_t)sizeof(uint64_t);
	layer->timers_at = at;
	at += (layer->timer_count + NOPAL_TIMERS_OWN) *
	      (uint32_t)sizeof(struct nopal_timer_state);
	layer->awake_bytes = at;
}

/* A session begins as a copy of it. */
void nopal__seal_fresh(const struct nopal_plan *plan, struct nopal_layer *layer)
{
	char *fresh = calloc(1, layer->awake_bytes);
	struct nopal_timer_state *timers = (void *)(fresh + layer->timers_at);
	struct nopal_awake *awake = (void *)fresh;

	if (!fresh)
		abort();
	awake->budget = plan->budget;
	nopal__send_limit(awake);
	if (layer->shared_count)
		memcpy(fresh + layer->shared_at, layer->shared_initial,
		       layer->shared_count * sizeof(int64_t));
	for (uint32_t i = 0; i < layer->timer_count + NOPAL_TIMERS_OWN; i++)
		timers[i].deadline_ns = NOPAL_NEVER;
	layer->fresh = (void *)fresh;
}

/* ---------------------------------------------------------------- the layer */

static void seal_flow(struct nopal_plan *plan, const struct nopal_layer *flow)
{
	/* by this it says that nothing waits to leave it */
	uint32_t idle = shared_find(flow, "app_limited");

	if (idle < flow->shared_count)
		plan->flow_idle = idle + 1;
}

/* Where all arrives that a layer stands on, an unseen segment there is still needed,
 * however long it takes: whatever properties a message has, for nobody tells a layer
 * what one below has given up. */
void nopal__seal_facts(struct nopal_plan *plan)
{
	for (uint32_t l = 0; l + 1 < plan->layer_count; l++) {
		struct nopal_layer *layer = &plan->layers[l];
		uint32_t unmet = shared_find(layer, "reliability_unmet");

		if (unmet < layer->shared_count &&
		    nopal__promise_stands_on_all(plan->composition, l))
			layer->shared_initial[unmet] = 1;
	}
}

static bool is_handled(const struct nopal_layer *layer, enum nopal_event event)
{
	return layer->calls[event][NOPAL_KIND_DATA].count != 0;
}

/* Where a message is one segment, does it have to be made? */
static void seal_ways(struct nopal_layer *layer)
{
	const struct nopal_calls *cut =
		&layer->calls[NOPAL_MSG_FROM_USER][NOPAL_KIND_DATA];

	layer->rises = layer->index && !layer->deliver &&
		       !is_handled(layer, NOPAL_MSG_FROM_NET) &&
		       !is_handled(layer, NOPAL_MSG_TO_USER) &&
		       !is_handled(layer, NOPAL_MSG_CONSUMED);
	layer->sinks = layer->index && cut->count == 1 &&
		       cut->call->part->microprotocol->whole &&
		       !is_handled(layer, NOPAL_MSG_DONE);
	layer->lets_go = !layer->hold[NOPAL_FINISH][NOPAL_KIND_DATA] &&
			 !layer->hold[NOPAL_DEALLOCATE][NOPAL_KIND_DATA] &&
			 !is_handled(layer, NOPAL_SEGMENT_DONE);
}

void nopal__seal_layer(struct nopal_plan *plan, struct nopal_layer *layer,
		       const struct nopal_composed_layer *composed)
{
	struct nopal_part *parts = &plan->parts[layer->first_part];

	seal_shared(layer, parts);
	for (uint32_t p = 0; p < layer->part_count; p++) {
		seal_holds(plan, layer, &parts[p]);
		seal_timers(layer, &parts[p]);
		if (nopal__answers(parts[p].microprotocol, "connection"))
			layer->connection = &parts[p];
	}
	seal_calls(plan, layer, composed);
	seal_ways(layer);
	seal_states(plan, layer, parts);
	if (plan->flow && layer->index == plan->flow)
		seal_flow(plan, layer);
}
