/* SPDX-License-Identifier: MIT */
/*
 * build_layer.c -- the flat arrays of one layer: shared variables, hold bits, calls of each event,
 * states and timers; and a fresh session of it, of which each one begins as a copy.
 */
#include <errno.h>
#include <string.h>

#include "compose/compose.h"
#include "plan/build.h"
#include "registry/registry.h"

enum {
	ALIGNMENT = 16,
	HANDLER_ROOM = 256, /* bindings of one event in a layer */
};

static uint32_t align(size_t bytes)
{
	return (uint32_t)((bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
}

/* ------------------------------------------------------------ shared variables */

/* Its writer in the layer; NULL: nobody writes it. */
static const struct nopal_shared *shared_writer(const struct nopal_layer *layer,
						const struct nopal_part *parts, const char *name)
{
	for (uint32_t p = 0; p < layer->part_count; p++) {
		const struct nopal_shared *shared = parts[p].microprotocol->shared;

		for (; shared && shared->name; shared++)
			if (shared->access == NOPAL_WRITE && strcmp(shared->name, name) == 0)
				return shared;
	}
	return NULL;
}

/* Variables of one name that begin alike are one: a written one with all its readers; one that
 * nobody writes has for each reader the value that the reader said. */
static void build_shared(struct nopal_layer *layer, struct nopal_part *parts, uint32_t index)
{
	const struct nopal_shared *shared = parts[index].microprotocol->shared;

	for (unsigned i = 0; shared && shared[i].name; i++) {
		const struct nopal_shared *writer = shared_writer(layer, parts, shared[i].name);
		const struct nopal_shared *one = writer ? writer : &shared[i];
		uint32_t place = 0;

		while (place < layer->shared_count &&
		       (layer->shared[place].initial != one->initial ||
			strcmp(layer->shared[place].name, one->name) != 0))
			place++;
		parts[index].shared[i] = (uint8_t)place;
		if (place < layer->shared_count)
			continue;
		layer->shared[layer->shared_count++] = (struct nopal_shared_plan){
			.name = one->name,
			.initial = one->initial,
			.written = one->access == NOPAL_WRITE,
		};
	}
}

/* ---------------------------------------------------------------- hold bits */

static void build_holds(const struct nopal_plan *plan, struct nopal_layer *layer,
			struct nopal_part *part)
{
	const struct nopal_hold *hold = part->microprotocol->holds;

	for (; hold && hold->why; hold++) {
		const struct nopal_part **holders = layer->hold_part[hold->barrier];
		unsigned bit = 0;
		uint32_t mask;

		while (holders[bit] && holders[bit] != part)
			bit++;
		if (!holders[bit])
			layer->hold_why[hold->barrier][bit] = hold->why;
		holders[bit] = part;
		mask = UINT32_C(1) << bit;
		part->hold[hold->barrier] = mask;
		layer->tracks |= hold->barrier == NOPAL_DONE;
		if (hold->barrier == NOPAL_DELIVER) {
			layer->deliver |= mask;
			continue;
		}
		for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++)
			if (nopal__kind_wanted(plan, part, hold->kinds, code)) {
				layer->hold[hold->barrier][code] |= mask;
				if (hold->barrier == NOPAL_SEND && !hold->sticky)
					layer->rearm[code] |= mask;
			}
	}
}

/* ------------------------------------------------------------------- calls */

/* The part that a binding's handler sees: with an argument, a copy that has it; NULL:
 * the arena failed. */
static const struct nopal_part *build_argued(struct nopal_plan *plan, const struct nopal_part *part,
					     const void *argument)
{
	struct nopal_part *copy;
	struct nopal_part **place;

	if (!argument)
		return part;
	for (uint32_t i = 0; i < plan->argued_count; i++)
		if (plan->argued[i]->index == part->index && plan->argued[i]->argument == argument)
			return plan->argued[i];
	copy = nopal__zeroed(plan->arena, 1, sizeof(*copy));
	place = nopal__one_more(plan->arena, &plan->argued, &plan->argued_count, sizeof(*place));
	if (!copy || !place)
		return NULL;
	*copy = *part;
	copy->argument = argument;
	*place = copy;
	return copy;
}

static void build_calls(struct nopal_plan *plan, struct nopal_layer *layer,
			const struct nopal_composed_layer *composed)
{
	size_t used = 0;

	for (unsigned event = 1; event < NOPAL_EVENT_COUNT; event++) {
		struct nopal_ordered order[HANDLER_ROOM];
		size_t count = nopal__compose_order(composed, (enum nopal_event)event, order,
						    HANDLER_ROOM);
		uint8_t kinds = nopal__about_segments(event) ? NOPAL_KIND_ROOM : 1;

		/* Calls are stored behind one another; the table points into the store. */
		for (uint8_t code = 0; code < kinds; code++) {
			size_t before = used;

			for (size_t i = 0; i < count && i < HANDLER_ROOM; i++) {
				const struct nopal_part *part =
					&plan->parts[layer->first_part + order[i].member];
				const struct nopal_binding *binding =
					&part->microprotocol->bindings[order[i].binding];
				struct nopal_call *call = NULL;

				if (nopal__kind_wanted(plan, part, binding->kinds, code))
					call = nopal__one_more(plan->arena, &layer->call_store,
							       &used, sizeof(*call));
				if (call)
					*call = (struct nopal_call){
						build_argued(plan, part, binding->argument),
						binding->run
					};
			}
			layer->calls[event][code].count = (uint32_t)(used - before);
		}
	}
	used = 0;
	for (unsigned event = 1; event < NOPAL_EVENT_COUNT; event++)
		for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++) {
			struct nopal_calls *calls = &layer->calls[event][code];

			if (calls->count)
				calls->call = &layer->call_store[used];
			used += calls->count;
		}
}

/* ------------------------------------------------------------ states, timers */

static void build_states(const struct nopal_plan *plan, struct nopal_layer *layer,
			 struct nopal_part *parts)
{
	uint32_t at = align(nopal__instance.head_bytes);
	size_t timers = 0;

	for (uint32_t p = 0; p < layer->part_count; p++) {
		const struct nopal_timer *timer = parts[p].microprotocol->timers;

		parts[p].state = at;
		at += align(parts[p].microprotocol->state_size);
		parts[p].first_timer = (uint8_t)timers;
		for (; timer && timer->name; timer++) {
			struct nopal_timer_plan *one =
				nopal__one_more(plan->arena, &layer->timers, &timers, sizeof(*one));

			if (one)
				*one = (struct nopal_timer_plan){ &parts[p], timer };
		}
	}
	layer->timer_count = (uint32_t)timers;
	layer->shared_at = at;
	at += layer->shared_count * (uint32_t)sizeof(int64_t);
	layer->serial_at = at;
	at += plan->serial_count * (uint32_t)sizeof(uint64_t);
	layer->timers_at = at;
	at += (layer->timer_count + nopal__instance.own_timers) * nopal__instance.timer_bytes;
	layer->awake_bytes = at;
}

/* A session begins as a copy of it. */
int nopal__build_fresh(const struct nopal_plan *plan, struct nopal_layer *layer)
{
	char *fresh = nopal__zeroed(plan->arena, 1, layer->awake_bytes);

	if (!fresh)
		return -ENOMEM;
	for (uint32_t i = 0; i < layer->shared_count; i++)
		((int64_t *)(void *)(fresh + layer->shared_at))[i] = layer->shared[i].initial;
	nopal__instance.begin(layer, fresh);
	layer->fresh = (void *)fresh;
	return 0;
}

/* ---------------------------------------------------------------- the layer */

/* Where all arrives that a layer stands on, an unseen segment there is still needed, however long
 * it takes: whatever properties a message has, for nobody tells a layer what one below has given
 * up. */
void nopal__build_facts(struct nopal_plan *plan)
{
	struct nopal_service service;

	for (uint32_t l = 0; l + 1 < plan->layer_count; l++)
		if (nopal__promise_stands_on_all(plan->composition, l)) {
			struct nopal_layer *layer = &plan->layers[l];

			for (uint32_t i = 0; i < layer->shared_count; i++)
				if (!layer->shared[i].written &&
				    strcmp(layer->shared[i].name, "reliability_unmet") == 0)
					layer->shared[i].initial = 1;
		}
	nopal_plan_service(plan, 0, NULL, &service);
	plan->delivers = nopal_promises(&service, NOPAL_DELIVERY, NOPAL_ALL);
}

static bool is_handled(const struct nopal_layer *layer, enum nopal_event event)
{
	return layer->calls[event][NOPAL_KIND_DATA].count != 0;
}

int nopal__build_layer(struct nopal_plan *plan, struct nopal_layer *layer,
		       const struct nopal_composed_layer *composed)
{
	struct nopal_part *parts = &plan->parts[layer->first_part];
	const struct nopal_calls *cut;
	size_t room = (size_t)layer->part_count * NOPAL_MAX_SHARED;

	layer->shared = nopal__zeroed(layer->plan->arena, room, sizeof(*layer->shared));
	if (!layer->shared)
		return -ENOMEM;
	for (uint32_t p = 0; p < layer->part_count; p++) {
		build_shared(layer, parts, p);
		build_holds(plan, layer, &parts[p]);
	}
	layer->connection = nopal__provider(layer, "connection");
	build_calls(plan, layer, composed);
	build_states(plan, layer, parts);
	if (plan->arena->failed)
		return -ENOMEM;
	/* Where a message is one segment, does it have to be made? */
	cut = &layer->calls[NOPAL_MSG_FROM_USER][NOPAL_KIND_DATA];
	layer->rises = layer->index && !layer->deliver && !is_handled(layer, NOPAL_MSG_FROM_NET) &&
		       !is_handled(layer, NOPAL_MSG_TO_USER) &&
		       !is_handled(layer, NOPAL_MSG_CONSUMED);
	layer->sinks = layer->index && cut->count == 1 && cut->call->part->microprotocol->whole &&
		       !is_handled(layer, NOPAL_MSG_DONE);
	layer->lets_go = !layer->hold[NOPAL_DONE][NOPAL_KIND_DATA] &&
			 !layer->hold[NOPAL_DEALLOCATE][NOPAL_KIND_DATA] &&
			 !is_handled(layer, NOPAL_SEGMENT_DONE);
	/* By its variable app_limited a flow says that nothing waits to leave it. */
	for (uint32_t i = 0; plan->flow && layer->index == plan->flow && i < layer->shared_count;
	     i++)
		if (layer->shared[i].written && strcmp(layer->shared[i].name, "app_limited") == 0)
			plan->flow_idle = 1 + i;
	return 0;
}
