/* SPDX-License-Identifier: MIT */
/*
 * explain_promises.c -- qualities of a service as text and as JSON.
 */
#include "inspect/explain_promises.h"

#include <stdlib.h>
#include <string.h>

/* Qualities that only some compositions have anything to say of: where no part changes what the
 * network gives, they are left out. */
static bool is_worth_a_line(enum nopal_quality quality, const struct nopal_guarantee *one)
{
	return one->part >= 0 ||
	       (quality != NOPAL_RECEIVERS && quality != NOPAL_LABELS && quality != NOPAL_LATENESS);
}

/* A name that a row of the plan is about, from the `index`-th such name on; NULL:
 * there are no more.  Names recur. */
static const char *property_at(const struct nopal_plan *plan, size_t index, char *text, size_t room)
{
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_promise *row = nopal_plan_part(plan, i)->microprotocol->promises;

		for (; row && row->because; row++) {
			const char *at = row->of;

			while (at && *at) {
				size_t length = strcspn(at, "|");

				if (index-- == 0) {
					snprintf(text, room, "%.*s", (int)length, at);
					return text;
				}
				at += length + (at[length] == '|');
			}
		}
	}
	return NULL;
}

/* Was it among those before? */
static bool property_is_new(const struct nopal_plan *plan, size_t index, const char *name)
{
	char before[SHOW_VALUE_ROOM];

	for (size_t i = 0; i < index; i++)
		if (strcmp(property_at(plan, i, before, sizeof(before)), name) == 0)
			return false;
	return true;
}

/* " deadline = 50ms", or nothing. */
static const char *bound_text(const struct nopal_plan *plan, const struct nopal_guarantee *one,
			      char *text, size_t room)
{
	const struct nopal_part *part;
	const struct nopal_parameter *parameter;
	char value[SHOW_VALUE_ROOM];

	*text = '\0';
	if (one->part < 0 || !one->row->bound)
		return text;
	part = nopal_plan_part(plan, (size_t)one->part);
	parameter = part->microprotocol->parameters;
	while (strcmp(parameter->name, one->row->bound) != 0)
		parameter++;
	snprintf(text, room, "%s = %s", parameter->name, show_value(part, parameter, value));
	return text;
}

/* ------------------------------------------------------------------------ text */

static void print_giver(const struct nopal_plan *plan, const struct nopal_guarantee *one,
			enum nopal_quality quality)
{
	char bound[2 * SHOW_VALUE_ROOM];

	if (one->part < 0)
		return;
	bound_text(plan, one, bound, sizeof(bound));
	printf("  %-18s %-18s by %s%s%s%s, at %s: %s", "", "",
	       nopal_plan_part(plan, (size_t)one->part)->microprotocol->name, *bound ? " { " : "",
	       bound, *bound ? " }" : "", nopal_stage_name(one->row->stage), one->row->because);
	if (one->below != one->value)
		printf("; below: %s", nopal_quality_word(quality, one->below));
	printf("\n");
}

/* Messages with this property: the qualities that are others for them. */
static void print_property(const struct nopal_plan *plan, unsigned layer, const char *name)
{
	struct nopal_service all, of;

	nopal_plan_service(plan, layer, NULL, &all);
	nopal_plan_service(plan, layer, name, &of);
	for (unsigned i = 0; i < NOPAL_QUALITIES; i++) {
		enum nopal_quality quality = (enum nopal_quality)i;

		if (of.quality[i].value == all.quality[i].value)
			continue;
		printf("  messages with %s: %s %s, %s\n", name, nopal_quality_name(quality),
		       nopal_quality_word(quality, of.quality[i].value),
		       nopal_quality_meaning(quality, of.quality[i].value));
		print_giver(plan, &of.quality[i], quality);
	}
}

void explain_promises_print(const struct nopal_plan *plan, bool layers)
{
	unsigned count = layers ? nopal_plan_layers(plan) : 1;
	char name[SHOW_VALUE_ROOM];

	for (unsigned l = 0; l < count; l++) {
		struct nopal_service service;

		printf("\npromises%s%s\n", layers ? " of layer " : "",
		       layers ? nopal_plan_layer_name(plan, l) : "");
		nopal_plan_service(plan, l, NULL, &service);
		for (unsigned i = 0; i < NOPAL_QUALITIES; i++) {
			enum nopal_quality quality = (enum nopal_quality)i;
			const struct nopal_guarantee *one = &service.quality[i];

			if (!is_worth_a_line(quality, one))
				continue;
			printf("  %-18s %-18s %s\n", nopal_quality_name(quality),
			       nopal_quality_word(quality, one->value),
			       nopal_quality_meaning(quality, one->value));
			print_giver(plan, one, quality);
		}
		for (size_t i = 0; property_at(plan, i, name, sizeof(name)); i++)
			if (property_is_new(plan, i, name))
				print_property(plan, l, name);
	}
}

/* ------------------------------------------------------------------------ JSON */

static json_t *guarantee_json(const struct nopal_plan *plan, enum nopal_quality quality,
			      const struct nopal_guarantee *one)
{
	char bound[2 * SHOW_VALUE_ROOM];
	json_t *object =
		json_pack("{s:s, s:s, s:s}", "value", nopal_quality_word(quality, one->value),
			  "meaning", nopal_quality_meaning(quality, one->value), "below",
			  nopal_quality_word(quality, one->below));

	if (one->part < 0)
		return object;
	json_object_update_new(
		object,
		json_pack("{s:s, s:s, s:s, s:s}", "by",
			  nopal_plan_part(plan, (size_t)one->part)->microprotocol->name, "stage",
			  nopal_stage_name(one->row->stage), "because", one->row->because, "bound",
			  bound_text(plan, one, bound, sizeof(bound))));
	return object;
}

static void add_property(const struct nopal_plan *plan, unsigned layer, const char *name,
			 json_t *promises)
{
	struct nopal_service all, of;

	nopal_plan_service(plan, layer, NULL, &all);
	nopal_plan_service(plan, layer, name, &of);
	for (unsigned i = 0; i < NOPAL_QUALITIES; i++) {
		enum nopal_quality quality = (enum nopal_quality)i;
		json_t *promise = json_object_get(promises, nopal_quality_name(quality));
		json_t *others;

		if (of.quality[i].value == all.quality[i].value)
			continue;
		others = json_object_get(promise, "messages_with");
		if (!others) {
			others = json_object();
			json_object_set_new(promise, "messages_with", others);
		}
		json_object_set_new(others, name, guarantee_json(plan, quality, &of.quality[i]));
	}
}

json_t *explain_promises_json(const struct nopal_plan *plan, unsigned layer)
{
	json_t *object = json_object();
	struct nopal_service service;
	char name[SHOW_VALUE_ROOM];

	nopal_plan_service(plan, layer, NULL, &service);
	for (unsigned i = 0; i < NOPAL_QUALITIES; i++)
		json_object_set_new(
			object, nopal_quality_name((enum nopal_quality)i),
			guarantee_json(plan, (enum nopal_quality)i, &service.quality[i]));
	for (size_t i = 0; property_at(plan, i, name, sizeof(name)); i++)
		if (property_is_new(plan, i, name))
			add_property(plan, layer, name, object);
	return object;
}
