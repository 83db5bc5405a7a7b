/* SPDX-License-Identifier: MIT */
/*
 * plan.c -- building: from a checked composition to flat arrays, slots, masks and a header plan.
 *
 * Numbers that both peers must give alike (of kinds, of header fields) go by the names of the
 * microprotocols, never by the order in a config; local ones go by the config's order.
 * build_layer.c makes a layer's arrays, build_wire.c kinds and headers.
 */
#include <string.h>

#include "plan/plan.h"
#include "compose/compose.h"
#include "plan/fused.h"
#include "plan/build.h"
#include "registry/registry.h"

enum { MTU_DEFAULT = 1500 }; /* Ethernet */
static const struct nopal_budget budget_initial = {
	.bytes = UINT64_C(256) << 20,
	.objects = 1u << 20,
	.send_bytes = UINT64_C(4) << 20,
	.hold_ns = 10 * NOPAL_SECOND,
};

/* ------------------------------------------------------------------- building */

/* False: the arena failed. */
static bool build_parts(struct nopal_plan *plan, const struct nopal_composition *composition)
{
	uint32_t index = 0;

	for (size_t l = 0; l < composition->layer_count; l++)
		plan->part_count += (uint32_t)composition->layers[l].count;
	plan->layer_count = (uint32_t)composition->layer_count;
	plan->layers = nopal__zeroed(plan->arena, plan->layer_count, sizeof(*plan->layers));
	plan->parts = nopal__zeroed(plan->arena, plan->part_count, sizeof(*plan->parts));
	if (!plan->layers || !plan->parts)
		return false;
	for (size_t l = 0; l < composition->layer_count; l++) {
		const struct nopal_composed_layer *composed = &composition->layers[l];

		plan->layers[l] = (struct nopal_layer){
			.name = composed->name,
			.plan = plan,
			.index = (uint8_t)l,
			.first_part = (uint8_t)index,
			.part_count = (uint8_t)composed->count,
		};
		for (size_t m = 0; m < composed->count; m++, index++) {
			plan->parts[index].microprotocol = composed->members[m].microprotocol;
			plan->parts[index].parameters = composed->members[m].parameters;
			plan->parts[index].index = (uint8_t)index;
		}
	}
	return true;
}

static const struct nopal_part *bottom_provider(const struct nopal_plan *plan, const char *role)
{
	return nopal__provider(&plan->layers[plan->layer_count - 1], role);
}

static uint32_t mtu_of(const struct nopal_plan *plan)
{
	const struct nopal_part *part = bottom_provider(plan, "message_segments");
	const struct nopal_parameter *mtu =
		part ? nopal__parameter_find(part->microprotocol, "mtu", strlen("mtu")) : NULL;

	return mtu ? (uint32_t)nopal__parameter_get(part->parameters, mtu) : MTU_DEFAULT;
}

/* What the layer has left of `room`, that of data that nothing wraps: a kind that wraps a data
 * segment must fit where the segment itself does, in a datagram, or in what the layer below takes. */
static uint32_t room_within(const struct nopal_plan *plan, const struct nopal_layer *layer,
			    uint32_t room)
{
	bool lowest = layer->index + 1u == plan->layer_count;
	uint32_t whole = lowest ? plan->datagram_bytes : room, max = 0, used;

	/* The most that a kind puts around a packed data segment, with what the kind has before it. */
	for (uint8_t code = NOPAL_KIND_FIRST_OWN; code < NOPAL_KIND_MULTICAST; code++) {
		const struct nopal_kind_plan *kind = &plan->kinds[code];
		uint32_t around = kind->around;

		if (lowest)
			around += plan->head_bytes + kind->header.bytes + plan->trailer_bytes;
		if (layer->kinds >> code & 1 && kind->around && around > max)
			max = around;
	}
	if (!max)
		return room;
	used = max + (lowest ? plan->kinds[NOPAL_KIND_DATA].header.bytes : layer->coded.bytes);
	if (used >= whole)
		return 0;
	return whole - used < room ? whole - used : room;
}

static uint32_t build_trailer(const struct nopal_part *seal)
{
	if (!seal)
		return 0;
	return seal->microprotocol->seal->trailer
		       ? seal->microprotocol->seal->trailer(seal->parameters)
		       : seal->microprotocol->seal->overhead;
}

static int build_sizes(struct nopal_plan *plan, struct nopal_problems *problems)
{
	/* A first datagram has an id even where later ones have none. */
	uint32_t introduction =
		plan->admission || plan->demux == NOPAL_DEMUX_INTEROP
			? 0
			: NOPAL_FINGERPRINT_BYTES + 1 + NOPAL_ID_BYTES - plan->head_bytes;
	uint32_t floor = NOPAL_PATH_FLOOR - NOPAL_UDP_BYTES, used;
	uint64_t room;

	plan->datagram_bytes = mtu_of(plan) - NOPAL_UDP_BYTES;
	plan->trailer_bytes = build_trailer(plan->seal);
	plan->data_field_bytes = plan->kinds[NOPAL_KIND_DATA].header.bytes;
	if (plan->format)
		plan->data_field_bytes += plan->format->microprotocol->format->bytes;
	plan->header_bytes = plan->head_bytes + plan->data_field_bytes;
	used = plan->header_bytes + plan->trailer_bytes + introduction;
	room = plan->datagram_bytes - used;
	/* From the lowest layer up, none of which has more room than the one below it. */
	for (uint32_t l = used < plan->datagram_bytes ? plan->layer_count : 0; l-- > 0;) {
		struct nopal_layer *layer = &plan->layers[l];
		const struct nopal_part *cutter = nopal__provider(layer, "message_segments");

		room = layer->body_bytes = room_within(plan, layer, (uint32_t)room);
		/* The longest segment that it takes from the one above it as one of its own. */
		if (cutter && cutter->microprotocol->message_limit)
			room = cutter->microprotocol->message_limit(cutter->parameters,
								    layer->body_bytes);
		if (room > layer->body_bytes)
			room = layer->body_bytes;
		if (l)
			layer[-1].below_takes = (uint32_t)room;
	}
	if (!plan->layers[0].body_bytes) {
		nopal_problems_add(problems, plan->info.name, 0, "raise the MTU",
				   "an MTU of %u bytes leaves no room for a body", mtu_of(plan));
		return -1;
	}
	plan->info.message_min = plan->header_bytes + plan->trailer_bytes ? 0 : 1;
	plan->path_floor = bottom_provider(plan, "path_limit") && floor < plan->datagram_bytes
				   ? floor
				   : plan->datagram_bytes;
	/* Where the path is asked, all must fit the least that it may take. */
	if (plan->datagram_bytes - plan->path_floor < plan->layers[0].body_bytes)
		return 0;
	nopal_problems_add(problems, plan->info.name, 0,
			   "use fewer attributes, or leave the role path_limit out",
			   "a path of %d bytes leaves no room for a body", NOPAL_PATH_FLOOR);
	return -1;
}

/* The stages of a datagram, which the lowest layer has; how sessions are told apart, and what
 * stands before the fields for it. */
static void build_bottom(struct nopal_plan *plan)
{
	const struct nopal_layer *bottom = &plan->layers[plan->layer_count - 1];

	for (uint32_t p = 0; p < bottom->part_count; p++) {
		const struct nopal_part *part = &plan->parts[bottom->first_part + p];

		if (part->microprotocol->seal)
			plan->seal = part;
		if (part->microprotocol->format)
			plan->format = part;
		if (part->microprotocol->admission)
			plan->admission = part;
	}
	if (plan->format && plan->format->microprotocol->format->interop)
		plan->demux = NOPAL_DEMUX_INTEROP;
	else if (bottom_provider(plan, "address_demux"))
		plan->demux = NOPAL_DEMUX_ADDRESS;
	else
		plan->head_bytes = NOPAL_ID_BYTES;
	if (plan->demux != NOPAL_DEMUX_INTEROP)
		plan->head_bytes++;
	plan->follows_peer = plan->demux == NOPAL_DEMUX_ID && bottom_provider(plan, "path_change");
	plan->many_paths = plan->follows_peer || (plan->demux == NOPAL_DEMUX_ID &&
						  bottom_provider(plan, "parallel_paths"));
}

/* Where many stand on one, or one on many. */
static void build_multiplicity(struct nopal_plan *plan, const struct nopal_composition *composition)
{
	for (uint32_t l = 0; l < plan->layer_count; l++)
		switch (composition->layers[l].multiplicity) {
		case NOPAL_PER_DESTINATION:
			plan->destinations = (uint8_t)l;
			plan->channel = nopal__provider(&plan->layers[l - 1], "channel");
			plan->host_streams = nopal__provider(&plan->layers[l - 1], "host_streams");
			break;
		case NOPAL_PER_STREAM:
			plan->flow = (uint8_t)(l + 1);
			break;
		case NOPAL_SHARED_LAYER:
			plan->flow = (uint8_t)l;
			plan->flow_shared = true;
			break;
		case NOPAL_ONE:
			break;
		}
}

/* NULL: problems were added, or the arena failed. */
static struct nopal_plan *build_plan(struct nopal_composition *composition,
				     struct nopal_problems *problems)
{
	struct nopal_arena *arena = &composition->config->arena;
	struct nopal_plan *plan = nopal__zeroed(arena, 1, sizeof(*plan));

	if (!plan)
		return NULL;
	atomic_init(&plan->references, 1);
	plan->arena = arena;
	plan->composition = composition;
	plan->info.name = composition->config->name;
	plan->info.description = composition->config->description;
	plan->info.canonical = composition->canonical;
	plan->info.fingerprint = composition->fingerprint;
	if (!build_parts(plan, composition))
		return NULL;
	build_multiplicity(plan, composition);
	build_bottom(plan);
	if (nopal__build_wire(plan, problems) < 0 || build_sizes(plan, problems) < 0 ||
	    nopal__compose_resolve(composition, plan->layers[plan->layer_count - 1].body_bytes,
				   problems) < 0)
		return NULL;
	plan->destination_slot = (uint8_t)nopal_property(plan, "destination");
	for (uint32_t l = 0; l < plan->layer_count; l++)
		if (nopal__build_layer(plan, &plan->layers[l], &composition->layers[l]) < 0)
			return NULL;
	nopal__build_facts(plan);
	nopal__limit_messages(plan, composition->config->message_limit_bytes);
	plan->info.header_bytes = plan->header_bytes + plan->trailer_bytes;
	plan->info.body_bytes = plan->layers[0].body_bytes;
	plan->budget = budget_initial;
	nopal__budget_set(&plan->budget, &composition->config->budget);
	for (uint32_t l = 0; l < plan->layer_count; l++)
		if (nopal__build_fresh(plan, &plan->layers[l]) < 0)
			return NULL;
	if (nopal__build_fields(plan) < 0)
		return NULL;
	nopal__fused_find(plan);
	return plan;
}

/* NULL where anything was wrong. */
static struct nopal_plan *plan_of(struct nopal_config *config, struct nopal_problems *problems)
{
	struct nopal_composition *composition = nopal__compose(config, problems);
	size_t errors = problems->errors;
	struct nopal_plan *plan;

	if (!composition)
		return NULL;
	plan = build_plan(composition, problems);
	composition->config->arena.problems = NULL; /* they are the caller's */
	if (problems->errors == errors)
		return plan;
	nopal__composition_free(composition);
	return NULL;
}

struct nopal_plan *nopal_plan_load(const char *name_or_path, const char *const *sets,
				   struct nopal_problems *problems)
{
	return plan_of(nopal__config_load(name_or_path, sets, problems), problems);
}

struct nopal_plan *nopal_plan_parse(const char *text, const char *file, const char *const *sets,
				    struct nopal_problems *problems)
{
	return plan_of(nopal__config_parse(text, file, sets, problems), problems);
}

struct nopal_plan *nopal_plan_ref(struct nopal_plan *plan)
{
	atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
	return plan;
}

void nopal_plan_unref(struct nopal_plan *plan)
{
	if (!plan || atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) > 1)
		return;
	if (plan->watched)
		plan->watched_free(plan->watched);
	nopal__composition_free(plan->composition);
}
