/* SPDX-License-Identifier: MIT */
/*
 * explain.c -- nopal explain: what does this composition promise, and at what price?
 *
 * Promises are those of promise.h, computed from the descriptors; a microprotocol that is not known
 * here is explained as well as any other.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/show.h"

static const struct tool_option explain_options[] = {
	{ "layers", 0, NULL, "the promises of each layer, not of the top alone" },
	TOOL_SET_OPTION,
	TOOL_JSON_OPTION,
	{ 0 },
};

/* -------------------------------------------------------------------- promises */

/* Names that rows of the plan are about, each once, NULL-ended; the caller frees each and the
 * array. */
static char **explain_names(const struct nopal_plan *plan)
{
	char **names = tool_need(calloc(1, sizeof(*names)));
	size_t count = 0, known;

	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_promise *row = nopal_plan_part(plan, i)->microprotocol->promises;

		for (; row && row->because; row++) {
			const char *at = row->of ? row->of : "";

			for (; *at; at += strcspn(at, "|"), at += *at == '|') {
				char *name = tool_need(strndup(at, strcspn(at, "|")));

				for (known = 0; known < count; known++)
					if (strcmp(names[known], name) == 0)
						break;
				if (known < count) {
					free(name);
					continue;
				}
				names = tool_need(reallocarray(names, count + 2, sizeof(*names)));
				names[count++] = name;
				names[count] = NULL;
			}
		}
	}
	return names;
}

/* " deadline = 50ms", or nothing. */
static const char *explain_bound(const struct nopal_plan *plan, const struct nopal_guarantee *one,
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

static void explain_print_giver(const struct nopal_plan *plan, const struct nopal_guarantee *one,
				enum nopal_quality quality)
{
	char bound[2 * SHOW_VALUE_ROOM];

	if (one->part < 0)
		return;
	explain_bound(plan, one, bound, sizeof(bound));
	printf("  %-18s %-18s by %s%s%s%s, at %s: %s", "", "",
	       nopal_plan_part(plan, (size_t)one->part)->microprotocol->name, *bound ? " { " : "",
	       bound, *bound ? " }" : "", nopal_stage_name(one->row->stage), one->row->because);
	if (one->below != one->value)
		printf("; below: %s", nopal_quality_word(quality, one->below));
	printf("\n");
}

static json_t *explain_guarantee_json(const struct nopal_plan *plan,
				      const struct nopal_guarantee *one, enum nopal_quality quality)
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
			  explain_bound(plan, one, bound, sizeof(bound))));
	return object;
}

/* Of all messages, and of messages with a name the qualities that are others for them: as text
 * (`json` false), or the object that is returned. */
static json_t *explain_promises(const struct nopal_plan *plan, unsigned layer, bool json)
{
	json_t *object = json ? json_object() : NULL, *promise, *others;
	char **names = explain_names(plan);
	struct nopal_service service, of;

	nopal_plan_service(plan, layer, NULL, &service);
	for (enum nopal_quality q = 0; q < NOPAL_QUALITIES; q++) {
		const struct nopal_guarantee *one = &service.quality[q];

		if (object)
			json_object_set_new(object, nopal_quality_name(q),
					    explain_guarantee_json(plan, one, q));
		/* Where no part changes what the network gives, these say nothing. */
		if (object || (one->part < 0 &&
			       (q == NOPAL_RECEIVERS || q == NOPAL_LABELS || q == NOPAL_LATENESS)))
			continue;
		printf("  %-18s %-18s %s\n", nopal_quality_name(q),
		       nopal_quality_word(q, one->value), nopal_quality_meaning(q, one->value));
		explain_print_giver(plan, one, q);
	}
	for (char **name = names; *name; name++) {
		nopal_plan_service(plan, layer, *name, &of);
		for (enum nopal_quality q = 0; q < NOPAL_QUALITIES; q++) {
			const struct nopal_guarantee *one = &of.quality[q];

			if (one->value == service.quality[q].value)
				continue;
			if (!object) {
				printf("  messages with %s: %s %s, %s\n", *name,
				       nopal_quality_name(q), nopal_quality_word(q, one->value),
				       nopal_quality_meaning(q, one->value));
				explain_print_giver(plan, one, q);
				continue;
			}
			promise = json_object_get(object, nopal_quality_name(q));
			others = json_object_get(promise, "messages_with");
			if (!others) {
				others = json_object();
				json_object_set_new(promise, "messages_with", others);
			}
			json_object_set_new(others, *name, explain_guarantee_json(plan, one, q));
		}
		free(*name);
	}
	free(names);
	return object;
}

/* ------------------------------------------------------------------------ text */

static void explain_print(const struct nopal_plan *plan, const struct nopal_problems *notes,
			  bool layers)
{
	const struct nopal_plan_info *info = nopal_plan_info(plan);
	const struct nopal_budget *budget = nopal_plan_budget(plan);
	const struct nopal_plan_field *fields;
	size_t count = nopal_plan_fields(plan, &fields);
	char text[SHOW_VALUE_ROOM];

	printf("%s: %s\n", info->name, info->description);
	printf("fingerprint %016" PRIx64 ", messages up to %" PRIu64 " bytes\n", info->fingerprint,
	       info->message_limit);
	printf("runs %s\n", nopal_plan_runs(plan));
	printf("budget of a session: %" PRIu64 " bytes, %u objects, %" PRIu64 " bytes unfinished",
	       budget->bytes, budget->objects, budget->send_bytes);
	if (budget->unsent_bytes)
		printf(", %" PRIu64 " bytes unsent", budget->unsent_bytes);
	if (budget->unsent_messages)
		printf(", %u messages unsent", budget->unsent_messages);
	printf("\n");
	for (unsigned l = 0; l < (layers ? nopal_plan_layers(plan) : 1); l++) {
		printf("\npromises%s%s\n", layers ? " of layer " : "",
		       layers ? nopal_plan_layer_name(plan, l) : "");
		explain_promises(plan, l, false);
	}
	printf("\nheader: %u bytes of a data datagram; %u are left for a body\n",
	       info->header_bytes, info->body_bytes);
	for (size_t i = 0; i < count; i++)
		printf("  %3u  %-19s %s\n", fields[i].bytes, fields[i].attribute,
		       fields[i].microprotocol ? fields[i].microprotocol : "the runtime's");
	printf("\nproperties of a message (--with NAME=VALUE)\n  %-19s %-24s %s\n", "urgent",
	       "the runtime's", "goes first among those that wait");
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_microprotocol *one = nopal_plan_part(plan, i)->microprotocol;
		const struct nopal_attribute *at = one->attributes;

		for (; at && at->name; at++)
			if (at->access == NOPAL_PROPERTY)
				printf("  %-19s %-24s %s\n", at->name, one->name,
				       at->doc ? at->doc : "");
	}
	printf("\nmicroprotocols\n");
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_part *part = nopal_plan_part(plan, i);
		const struct nopal_microprotocol *one = part->microprotocol;
		const struct nopal_parameter *parameter = one->parameters;

		printf("  %-24s %s\n", one->name, one->summary);
		if (parameter && parameter->name) {
			printf("  %-24s", "");
			for (; parameter->name; parameter++)
				printf(" %s = %s", parameter->name,
				       show_value(part, parameter, text));
			printf("\n");
		}
	}
	if (notes->count)
		printf("\nadded and noted\n");
	for (size_t i = 0; i < notes->count; i++)
		printf("  %s\n", notes->entries[i].cause);
}

/* ------------------------------------------------------------------------ JSON */

/* The properties that an application may set, and the parts with their parameters. */
static void explain_parts_json(const struct nopal_plan *plan, json_t *object)
{
	json_t *properties = json_array(), *parts = json_array();

	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_part *part = nopal_plan_part(plan, i);
		const struct nopal_microprotocol *one = part->microprotocol;
		const struct nopal_attribute *at = one->attributes;
		const struct nopal_parameter *parameter = one->parameters;
		json_t *values = json_object();
		char text[SHOW_VALUE_ROOM];

		for (; at && at->name; at++)
			if (at->access == NOPAL_PROPERTY)
				json_array_append_new(properties,
						      json_pack("{s:s, s:s}", "name", at->name,
								"microprotocol", one->name));
		for (; parameter && parameter->name; parameter++)
			json_object_set_new(values, parameter->name,
					    json_string(show_value(part, parameter, text)));
		json_array_append_new(parts,
				      json_pack("{s:s, s:s, s:o}", "name", one->name, "summary",
						one->summary, "parameters", values));
	}
	json_object_set_new(object, "properties", properties);
	json_object_set_new(object, "microprotocols", parts);
}

static void explain_json(const struct nopal_plan *plan, const struct nopal_problems *notes)
{
	const struct nopal_plan_info *info = nopal_plan_info(plan);
	const struct nopal_budget *budget = nopal_plan_budget(plan);
	json_t *object = show_object("nopal.explain"), *layers = json_array(),
	       *fields = json_array();
	const struct nopal_plan_field *field;
	size_t count = nopal_plan_fields(plan, &field);
	char fingerprint[SHOW_VALUE_ROOM];

	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, info->fingerprint);
	for (unsigned l = 0; l < nopal_plan_layers(plan); l++)
		json_array_append_new(layers, json_pack("{s:s, s:o}", "layer",
							nopal_plan_layer_name(plan, l), "promises",
							explain_promises(plan, l, true)));
	for (; count > 0; count--, field++)
		json_array_append_new(fields,
				      json_pack("{s:s, s:s?, s:i}", "field", field->attribute,
						"microprotocol", field->microprotocol, "bytes",
						(int)field->bytes));
	json_object_update_new(
		object, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "name", info->name,
				  "description", info->description, "fingerprint", fingerprint,
				  "canonical", info->canonical, "runs", nopal_plan_runs(plan),
				  "promises", explain_promises(plan, 0, true), "layers", layers));
	json_object_update_new(
		object,
		json_pack("{s:i, s:i, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:o}", "header_bytes",
			  (int)info->header_bytes, "body_bytes", (int)info->body_bytes,
			  "message_limit_bytes", (json_int_t)info->message_limit, "budget", "bytes",
			  (json_int_t)budget->bytes, "objects", (json_int_t)budget->objects,
			  "send_bytes", (json_int_t)budget->send_bytes, "unsent_bytes",
			  (json_int_t)budget->unsent_bytes, "unsent_messages",
			  (json_int_t)budget->unsent_messages, "fields", fields));
	explain_parts_json(plan, object);
	json_object_set_new(object, "notes", show_problems(notes));
	show_json(object);
}

static enum tool_exit explain_run(const struct tool_call *call)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_load(call->words[0], tool_values(call, "set"), &problems);
	if (!plan) {
		tool_problems(&problems);
		return TOOL_BAD_INPUT;
	}
	if (tool_value(call, "json"))
		explain_json(plan, &problems);
	else
		explain_print(plan, &problems, tool_value(call, "layers"));
	nopal_problems_fini(&problems);
	nopal_plan_unref(plan);
	return TOOL_GOOD;
}

const struct tool tool_explain = {
	.name = "explain",
	.words = "CONF",
	.summary = "what a config promises, and what its header costs",
	.help = "Tells what the composition guarantees, quality by quality, "
		"and which microprotocol\ngives it; which header bytes belong "
		"to whom; which microprotocols requires = auto\nadded; and "
		"whether its fused unit runs, or why it is interpreted.\n\n"
		"  nopal explain ctp_video",
	.min_words = 1,
	.max_words = 1,
	.options = explain_options,
	.run = explain_run,
};
