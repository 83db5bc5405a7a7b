/* SPDX-License-Identifier: MIT */
/*
 * plan_look.c -- looking at a built plan: for explain, graph, doc and traces.
 */
#include "compose/compose.h"
#include "plan/plan.h"
#include "registry/registry.h"

const struct nopal_plan_info *nopal_plan_info(const struct nopal_plan *plan)
{
	return &plan->info;
}

bool nopal_plan_provides(const struct nopal_plan *plan, const char *role)
{
	for (uint32_t p = 0; p < plan->part_count; p++)
		if (nopal__answers(plan->parts[p].microprotocol, role))
			return true;
	return false;
}

const struct nopal_part *nopal__provider(const struct nopal_layer *layer, const char *role)
{
	const struct nopal_part *part = &layer->plan->parts[layer->first_part];

	for (uint32_t p = 0; p < layer->part_count; p++)
		if (nopal__answers(part[p].microprotocol, role))
			return &part[p];
	return NULL;
}

const struct nopal_budget *nopal_plan_budget(const struct nopal_plan *plan)
{
	return &plan->budget;
}

size_t nopal_plan_fields(const struct nopal_plan *plan, const struct nopal_plan_field **ret_fields)
{
	*ret_fields = plan->fields;
	return plan->field_count;
}

size_t nopal_plan_part_count(const struct nopal_plan *plan)
{
	return plan->part_count;
}

const struct nopal_part *nopal_plan_part(const struct nopal_plan *plan, size_t index)
{
	return index < plan->part_count ? &plan->parts[index] : NULL;
}

unsigned nopal_plan_part_layer(const struct nopal_plan *plan, size_t index)
{
	unsigned layer = 0;

	while (layer + 1 < plan->layer_count && index >= plan->layers[layer + 1].first_part)
		layer++;
	return layer;
}

/* Handlers for data, in every layer from the top; for an event that only other kinds have, those of
 * the first kind that does. */
size_t nopal_plan_handlers(const struct nopal_plan *plan, unsigned event,
			   const struct nopal_part **ret_parts, size_t room)
{
	size_t count = 0;

	if (event == NOPAL_NO_EVENT || event >= NOPAL_EVENT_COUNT)
		return 0;
	for (uint32_t l = 0; l < plan->layer_count; l++) {
		const struct nopal_calls *calls = plan->layers[l].calls[event];
		uint8_t code = 0;

		while (code < NOPAL_KIND_ROOM - 1 && calls[code].count == 0)
			code++;
		for (uint32_t i = 0; i < calls[code].count && count < room; i++)
			ret_parts[count++] = calls[code].call[i].part;
	}
	return count;
}

unsigned nopal_property(const struct nopal_plan *plan, const char *name)
{
	if (strcmp(name, "urgent") == 0)
		return NOPAL_URGENT;
	for (uint32_t i = 1; i < plan->slot_count; i++)
		if (plan->properties >> i & 1 && strcmp(plan->slot_name[i], name) == 0)
			return i;
	return 0;
}

void nopal_plan_service(const struct nopal_plan *plan, unsigned layer, const char *names,
			struct nopal_service *ret_service)
{
	struct nopal_promise_walk walk = {
		.composition = plan->composition,
		.names = names,
	};

	nopal__promise_walk(&walk, layer);
	*ret_service = walk.service;
}

unsigned nopal_plan_layers(const struct nopal_plan *plan)
{
	return plan->layer_count;
}

const char *nopal_plan_layer_name(const struct nopal_plan *plan, unsigned layer)
{
	return layer < plan->layer_count ? plan->layers[layer].name : "the network";
}
