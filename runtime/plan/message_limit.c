/* SPDX-License-Identifier: MIT */
/*
 * message_limit.c -- how long a message of a plan's sessions may be.
 */
#include <string.h>

#include "plan/build.h"
#include "registry/registry.h"

static const uint64_t MESSAGE_LIMIT = UINT64_C(16) << 20;

static bool passes_whole(const struct nopal_microprotocol *one)
{
	for (const struct nopal_relation *need = one->needs; need && need->role; need++)
		if (strcmp(need->role, "layer_below") == 0)
			return true;
	return false;
}

/* Does the layer leave the cutting to the one below it? */
static bool is_whole(const struct nopal_plan *plan, const struct nopal_layer *layer)
{
	for (uint32_t p = 0; p < layer->part_count; p++) {
		const struct nopal_microprotocol *one =
			plan->parts[layer->first_part + p].microprotocol;

		if (nopal__answers(one, "message_segments"))
			return passes_whole(one);
	}
	return false;
}

/* The limit of the part, or one segment; UINT64_MAX: the part has no say. */
static uint64_t limit_by_part(const struct nopal_plan *plan, const struct nopal_layer *layer,
			      const struct nopal_part *part, bool whole)
{
	const struct nopal_microprotocol *one = part->microprotocol;
	uint32_t short_bytes = plan->datagram_bytes - plan->path_floor;
	bool cuts = nopal__answers(one, "message_segments");

	if (one->message_limit && (cuts || whole))
		return one->message_limit(part->parameters, layer->body_bytes - short_bytes);
	return cuts ? layer->body_bytes : UINT64_MAX;
}

/* Returns whether messages come to the next layer as they are. */
static bool limit_by_layer(struct nopal_plan *plan, const struct nopal_layer *layer)
{
	bool whole = is_whole(plan, layer);

	for (uint32_t p = 0; p < layer->part_count; p++) {
		uint64_t limit =
			limit_by_part(plan, layer, &plan->parts[layer->first_part + p], whole);

		if (limit < plan->info.message_limit)
			plan->info.message_limit = limit;
	}
	return whole;
}

/* Of the top layer, and of those below to which messages come whole; any other must take what the
 * layer above sends.  Who cuts can promise only what the narrowest path has room for; a message
 * that is one datagram may leave in fragments of IP there. */
void nopal__limit_messages(struct nopal_plan *plan, uint64_t wanted)
{
	uint32_t l = 0;

	plan->info.message_limit = wanted ? wanted : MESSAGE_LIMIT;
	while (l < plan->layer_count && limit_by_layer(plan, &plan->layers[l]))
		l++;
}
