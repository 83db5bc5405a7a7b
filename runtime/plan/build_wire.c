/* SPDX-License-Identifier: MIT */
/*
 * build_wire.c -- attribute slots, wire codes of kinds, and headers.
 *
 * Slot 0 is the absent attribute and reads 0.  Names belong to a layer; the header runs through the
 * layers from the top; in a layer the packet number is first, then come the microprotocols by name,
 * each one's table in its order.  An upper layer's fields are all on the data segments of the
 * lowest, and behind them, for each layer that has one above it, a byte that says which kind of
 * segment its message is there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compose/compose.h"
#include "plan/build.h"

static const char PACKET_NUMBER[] = "packet_number";
enum { PACKET_NUMBER_BYTES = 4, ABOVE_KIND_BYTES = 1, STREAM_BYTES = 3 };

bool nopal__kind_wanted(const struct nopal_plan *plan, const struct nopal_part *part,
			unsigned kinds, uint8_t code)
{
	const struct nopal_kind_plan *kind = &plan->kinds[code];

	switch (kinds) {
	case NOPAL_DATA:
		return code == NOPAL_KIND_DATA;
	case NOPAL_CARRIED:
		return code == NOPAL_KIND_DATA || (kind->part && kind->class == NOPAL_KIND_CARRIED);
	case NOPAL_EVERY_KIND:
		return code != NOPAL_KIND_REPLY;
	case NOPAL_REPLIES:
		return code == NOPAL_KIND_REPLY;
	default:
		return code == part->kind[kinds - NOPAL_OWN_KIND];
	}
}

bool nopal__about_segments(unsigned event)
{
	return strcmp(nopal_event_argument(event), "struct nopal_segment") == 0;
}

/* ------------------------------------------------------------------- slots */

struct slots {
	struct nopal_plan *plan;
	uint8_t layer[NOPAL_SLOT_ROOM];
	bool full;
};

static uint8_t slot_find(const struct slots *slots, uint8_t layer, const char *name)
{
	for (uint32_t i = 1; i < slots->plan->slot_count; i++)
		if (slots->layer[i] == layer && strcmp(slots->plan->slot_name[i], name) == 0)
			return (uint8_t)i;
	return 0;
}

static uint8_t slot_new(struct slots *slots, uint8_t layer, const char *name)
{
	struct nopal_plan *plan = slots->plan;
	uint8_t slot;

	if (plan->slot_count == NOPAL_SLOT_ROOM) {
		slots->full = true;
		return 0;
	}
	slot = (uint8_t)plan->slot_count++;
	plan->slot_name[slot] = name;
	slots->layer[slot] = layer;
	return slot;
}

static uint8_t slot_add(struct slots *slots, uint8_t layer, const char *name, bool serial)
{
	struct nopal_plan *plan = slots->plan;
	uint8_t slot = slot_find(slots, layer, name);

	if (slot)
		return slot;
	slot = slot_new(slots, layer, name);
	if (slot && serial)
		plan->serial_of[slot] = (uint8_t)++plan->serial_count;
	return slot;
}

static bool is_packet_number(const struct nopal_attribute *attribute)
{
	return strcmp(attribute->name, PACKET_NUMBER) == 0;
}

static void slots_make(struct slots *slots, struct nopal_layer *layer,
		       const struct nopal_part *part)
{
	const struct nopal_attribute *attribute = part->microprotocol->attributes;

	for (; attribute && attribute->name; attribute++) {
		if (is_packet_number(attribute))
			layer->packet_number_slot =
				slot_add(slots, layer->index, PACKET_NUMBER, true);
		else if (attribute->access == NOPAL_WRITE)
			slot_add(slots, layer->index, attribute->name, attribute->serial);
		else if (attribute->access == NOPAL_PROPERTY)
			slots->plan->properties |= UINT64_C(1) << slot_add(slots, layer->index,
									   attribute->name, false);
	}
}

/* ------------------------------------------------------------------- kinds */

static int parts_compare(const void *a, const void *b)
{
	struct nopal_part *const *one = a, *const *other = b;

	return strcmp((*one)->microprotocol->name, (*other)->microprotocol->name);
}

/* Parts of a layer by name: what peers number alike. */
static void parts_by_name(const struct nopal_plan *plan, const struct nopal_layer *layer,
			  struct nopal_part **ret_parts)
{
	for (uint32_t p = 0; p < layer->part_count; p++)
		ret_parts[p] = &plan->parts[layer->first_part + p];
	qsort(ret_parts, layer->part_count, sizeof(*ret_parts), parts_compare);
}

static int kinds_number(struct nopal_plan *plan, struct nopal_layer *layer, struct nopal_part *part,
			uint8_t *next)
{
	const struct nopal_kind *kind = part->microprotocol->kinds;

	for (unsigned i = 0; kind && kind[i].name; i++) {
		uint8_t code =
			kind[i].kind_class == NOPAL_KIND_OPENING ? NOPAL_KIND_CONNECT : (*next)++;

		if (code >= NOPAL_KIND_OWN_END)
			return -1;
		part->kind[i] = code;
		layer->kinds |= UINT32_C(1) << code;
		plan->kinds[code].name = kind[i].name;
		plan->kinds[code].class = kind[i].kind_class;
		plan->kinds[code].part = part;
		plan->kinds[code].around = kind[i].around;
	}
	return 0;
}

/* ----------------------------------------------------------------- headers */

/* Above destinations numbers are whole, and 0 is of what is for one alone. */
static void field_add(const struct nopal_plan *plan, struct nopal_header *header, uint8_t layer,
		      uint8_t slot, uint8_t bytes)
{
	uint8_t serial = layer < plan->destinations ? 0 : plan->serial_of[slot];

	/* A property that several parts put on the wire travels once, as wide as the widest. */
	for (unsigned i = 0; i < header->count; i++) {
		struct nopal_field *field = &header->fields[i];

		if (field->slot != slot)
			continue;
		if (bytes > field->bytes) {
			header->bytes += bytes - field->bytes;
			field->bytes = bytes;
		}
		return;
	}
	header->fields[header->count++] = (struct nopal_field){
		.slot = slot,
		.bytes = bytes,
		.serial = serial != 0,
		.reference = serial ? (uint8_t)(serial - 1) : 0,
		.layer = layer,
	};
	header->bytes += bytes;
}

static void fields_of_layer(struct nopal_plan *plan, const struct nopal_layer *layer, uint8_t code,
			    bool all)
{
	struct nopal_part *parts[UINT8_MAX];

	parts_by_name(plan, layer, parts);
	if (layer->packet_number_slot &&
	    (all || nopal__kind_wanted(plan, NULL, NOPAL_CARRIED, code)))
		field_add(plan, &plan->kinds[code].header, layer->index, layer->packet_number_slot,
			  PACKET_NUMBER_BYTES);
	for (uint32_t p = 0; p < layer->part_count; p++) {
		const struct nopal_part *part = parts[p];
		const struct nopal_attribute *attribute = part->microprotocol->attributes;
		struct nopal_header *header = &plan->kinds[code].header;

		/* Fields of one part on one kind; `all`: of an upper layer, whatever the kind. */
		for (unsigned i = 0; attribute && attribute[i].name; i++)
			if (attribute[i].wire_bytes && !is_packet_number(&attribute[i]) &&
			    nopal__parameter_holds(part->microprotocol, part->parameters,
						   attribute[i].when) &&
			    (all || nopal__kind_wanted(plan, part, attribute[i].kinds, code)))
				field_add(plan, header, layer->index, part->attribute[i],
					  attribute[i].wire_bytes);
	}
}

/* Which kinds of segment the layers above the first `count` of them have sent. */
static void fields_of_kinds(struct nopal_plan *plan, uint32_t count, uint8_t code)
{
	for (uint8_t l = 1; l <= count; l++)
		field_add(plan, &plan->kinds[code].header, l, plan->layers[l].above_kind_slot,
			  ABOVE_KIND_BYTES);
}

static void headers_make(struct nopal_plan *plan)
{
	uint8_t bottom = (uint8_t)(plan->layer_count - 1);
	struct nopal_kind_plan *multicast = &plan->kinds[NOPAL_KIND_MULTICAST];

	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++) {
		if (code == NOPAL_KIND_CONNECT || code == NOPAL_KIND_REPLY)
			continue;
		for (uint32_t l = 0; l < bottom && code == NOPAL_KIND_DATA; l++)
			fields_of_layer(plan, &plan->layers[l], code, true);
		if (code == NOPAL_KIND_DATA)
			fields_of_kinds(plan, bottom, code);
		if (plan->flow && code == NOPAL_KIND_DATA)
			field_add(plan, &plan->kinds[code].header, plan->flow, plan->stream_slot,
				  STREAM_BYTES);
		fields_of_layer(plan, &plan->layers[bottom], code, false);
	}
	if (!plan->channel)
		return;
	/* Through a channel nothing of the destinations' layers travels. */
	multicast->name = "multicast";
	for (uint32_t l = 0; l < plan->destinations; l++)
		fields_of_layer(plan, &plan->layers[l], NOPAL_KIND_MULTICAST, true);
	fields_of_kinds(plan, plan->destinations, NOPAL_KIND_MULTICAST);
}

/* The fields of data that are read, or coded over, apart from the whole header. */
static void headers_divide(struct nopal_plan *plan)
{
	const struct nopal_header *data = &plan->kinds[NOPAL_KIND_DATA].header;

	for (const struct nopal_field *field = data->fields; field < data->fields + data->count;
	     field++) {
		/* The lowest layer reads it without knowing for which session it is. */
		if (field->serial && field->layer + 1u < plan->layer_count)
			plan->serials.fields[plan->serials.count++] = *field;
		/* What differs from transmission to transmission is no part of what is coded, and a
		 * field of a layer below has no value yet where it is. */
		for (uint32_t l = field->layer; l < plan->layer_count; l++) {
			struct nopal_layer *layer = &plan->layers[l];

			if (field->slot == layer->packet_number_slot)
				continue;
			layer->coded.fields[layer->coded.count++] = *field;
			layer->coded.bytes += field->bytes;
		}
	}
}

/* ------------------------------------------------------- interop format */

static const struct nopal_part *writer_of(const struct nopal_plan *plan, uint8_t slot)
{
	for (uint32_t p = 0; p < plan->part_count; p++) {
		const struct nopal_part *part = &plan->parts[p];
		const struct nopal_attribute *attribute = part->microprotocol->attributes;

		for (unsigned i = 0; attribute && attribute[i].name; i++)
			if (part->attribute[i] == slot && (attribute[i].access == NOPAL_WRITE ||
							   attribute[i].access == NOPAL_PROPERTY ||
							   is_packet_number(&attribute[i])))
				return part;
	}
	return NULL;
}

/* An interop header has one place for each of its fields, which is the lowest layer's. */
static bool is_of_lowest(const struct nopal_plan *plan, const struct nopal_part *part)
{
	return part && part->index >= plan->layers[plan->layer_count - 1].first_part;
}

static bool carries(const struct nopal_format *format, const char *name)
{
	for (const char *const *at = format->carries; at && *at; at++)
		if (strcmp(*at, name) == 0)
			return true;
	return false;
}

/* An attribute that the format does not carry cannot travel; the others are in its own header. */
static void interop_field(const struct nopal_plan *plan, uint8_t slot,
			  struct nopal_problems *problems)
{
	const struct nopal_part *writer = writer_of(plan, slot);

	/* Layers above send data alone, or were refused by now. */
	for (uint32_t l = 1; l < plan->layer_count; l++)
		if (plan->layers[l].above_kind_slot == slot)
			return;
	if (!is_of_lowest(plan, writer) ||
	    !carries(plan->format->microprotocol->format, plan->slot_name[slot]))
		nopal_problems_add(problems, plan->info.name, 0, "leave one of them out",
				   "%s puts the attribute %s on the wire, which %s does not carry",
				   writer ? writer->microprotocol->name : "a layer above",
				   plan->slot_name[slot], plan->format->microprotocol->name);
}

static int interop_check(struct nopal_plan *plan, struct nopal_problems *problems)
{
	const struct nopal_format_kind *kinds;
	size_t errors = problems->errors;

	plan->kinds[NOPAL_KIND_DATA].formatted = plan->format != NULL;
	if (plan->demux != NOPAL_DEMUX_INTEROP)
		return 0;
	kinds = plan->format->microprotocol->format->kinds;
	for (unsigned code = NOPAL_KIND_CONNECT; code < NOPAL_KIND_ROOM; code++) {
		struct nopal_kind_plan *kind = &plan->kinds[code];
		const struct nopal_format_kind *one = is_of_lowest(plan, kind->part) ? kinds : NULL;

		for (unsigned i = 0; one && i < NOPAL_FORMAT_KINDS && one[i].kind; i++)
			if (!kind->formatted && strcmp(one[i].kind, kind->name) == 0 &&
			    strcmp(one[i].microprotocol, kind->part->microprotocol->name) == 0) {
				kind->formatted = (uint8_t)(2 + i);
				plan->format_code[i] = (uint8_t)code;
			}
		if (kind->part && !kind->formatted)
			nopal_problems_add(problems, plan->info.name, 0, "leave one of them out",
					   "%s sends segments of its kind %s, and %s has "
					   "no header for it",
					   kind->part->microprotocol->name, kind->name,
					   plan->format->microprotocol->name);
	}
	for (unsigned code = 0; code < NOPAL_KIND_ROOM; code++) {
		struct nopal_header *header = &plan->kinds[code].header;

		if (!plan->kinds[code].formatted)
			continue;
		for (unsigned i = 0; i < header->count; i++)
			interop_field(plan, header->fields[i].slot, problems);
		*header = (struct nopal_header){ 0 };
	}
	return problems->errors == errors ? 0 : -1;
}

int nopal__build_wire(struct nopal_plan *plan, struct nopal_problems *problems)
{
	struct slots slots = { .plan = plan };
	uint8_t next_kind = NOPAL_KIND_FIRST_OWN;
	int failed = 0;

	plan->slot_count = 1;
	plan->slot_name[0] = "absent";
	plan->kinds[NOPAL_KIND_DATA].name = "data";
	plan->kinds[NOPAL_KIND_DATA].class = NOPAL_KIND_CARRIED;
	plan->kinds[NOPAL_KIND_REPLY].name = "reply";
	plan->kinds[NOPAL_KIND_ABORT].name = "abort";
	for (uint32_t l = 0; l < plan->layer_count; l++) {
		struct nopal_layer *layer = &plan->layers[l];
		struct nopal_part *parts[UINT8_MAX];

		layer->kinds = 1u << NOPAL_KIND_DATA;
		parts_by_name(plan, layer, parts);
		for (uint32_t p = 0; p < layer->part_count; p++) {
			slots_make(&slots, layer, parts[p]);
			failed |= kinds_number(plan, layer, parts[p], &next_kind);
		}
		for (uint32_t p = 0; p < layer->part_count; p++) {
			struct nopal_part *part = parts[p];
			const struct nopal_attribute *attribute = part->microprotocol->attributes;

			for (unsigned i = 0; attribute && attribute[i].name; i++)
				part->attribute[i] =
					slot_find(&slots, layer->index, attribute[i].name);
		}
	}
	/* Of no microprotocol: what layers tell each other. */
	for (uint32_t l = 1; l < plan->layer_count; l++)
		plan->layers[l].above_kind_slot = slot_new(&slots, UINT8_MAX, "above_kind");
	if (plan->flow)
		plan->stream_slot = slot_new(&slots, UINT8_MAX, "stream");
	if (failed || slots.full) {
		nopal_problems_add(problems, plan->info.name, 0, "use fewer microprotocols",
				   "more than %d kinds of segment or %d attributes",
				   NOPAL_KIND_OWN_END - NOPAL_KIND_FIRST_OWN, NOPAL_SLOT_ROOM - 1);
		return -1;
	}
	headers_make(plan);
	if (interop_check(plan, problems) < 0)
		return -1;
	headers_divide(plan);
	return 0;
}

/* -------------------------------------------------------------- for people */

static void people_field(struct nopal_plan *plan, const char *attribute, const char *microprotocol,
			 uint32_t bytes)
{
	plan->fields[plan->field_count++] =
		(struct nopal_plan_field){ attribute, microprotocol, bytes };
}

int nopal__build_fields(struct nopal_plan *plan)
{
	const struct nopal_header *header = &plan->kinds[NOPAL_KIND_DATA].header;

	plan->fields = nopal__zeroed(plan->arena, header->count + 4u, sizeof(*plan->fields));
	if (!plan->fields)
		return -ENOMEM;
	if (plan->demux != NOPAL_DEMUX_INTEROP)
		people_field(plan, "version and kind", NULL, 1);
	if (plan->demux == NOPAL_DEMUX_ID)
		people_field(plan, "session id", NULL, NOPAL_ID_BYTES);
	if (plan->format)
		people_field(plan, "its own header", plan->format->microprotocol->name,
			     plan->format->microprotocol->format->bytes);
	for (unsigned i = 0; i < header->count; i++) {
		uint8_t slot = header->fields[i].slot;
		const struct nopal_part *writer = writer_of(plan, slot);

		people_field(plan, plan->slot_name[slot],
			     writer ? writer->microprotocol->name : NULL, header->fields[i].bytes);
	}
	if (plan->trailer_bytes)
		people_field(plan, "trailer", plan->seal->microprotocol->name, plan->trailer_bytes);
	return 0;
}
