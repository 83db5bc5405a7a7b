/* SPDX-License-Identifier: MIT */
/*
 * message_limit.c -- how long a message of a plan's sessions may be.
 */
#include <string.h>

#include "plan/build.h"
#include "registry/registry.h"

static const uint64_t MESSAGE_LIMIT = UINT64_C(16) << 20;

/* Of the top layer, and of those below to which messages come whole; any other must take what the
 * layer above sends.  Who cuts can promise only what the narrowest path has room for; a message
 * that is one datagram may leave in fragments of IP there. */
void nopal__limit_messages(struct nopal_plan *plan, uint64_t wanted)
{
	uint32_t short_bytes = plan->datagram_bytes - plan->path_floor;
	bool whole = true;

	plan->info.message_limit = wanted ? wanted : MESSAGE_LIMIT;
	for (uint32_t l = 0; whole && l < plan->layer_count; l++) {
		const struct nopal_layer *layer = &plan->layers[l];
		const struct nopal_part *cutter = nopal__provider(layer, "message_segments");
		const struct nopal_relation *need = cutter ? cutter->microprotocol->needs : NULL;

		/* Does the part leave the cutting to the layer below? */
		while (need && need->role && strcmp(need->role, "layer_below") != 0)
			need++;
		whole = need && need->role;
		for (uint32_t p = 0; p < layer->part_count; p++) {
			const struct nopal_part *part = &plan->parts[layer->first_part + p];
			const struct nopal_microprotocol *one = part->microprotocol;
			uint64_t limit = part == cutter ? layer->body_bytes : UINT64_MAX;

			if (one->message_limit && (part == cutter || whole))
				limit = one->message_limit(part->parameters,
							   layer->body_bytes - short_bytes);
			if (limit < plan->info.message_limit)
				plan->info.message_limit = limit;
		}
	}
}
