/* SPDX-License-Identifier: MIT */
/*
 * explain.c -- nopal explain: what does this composition promise, and at what price?
 *
 * Promises are those of promise.h, computed from the descriptors; a microprotocol that is not known
 * here is explained as well as any other.
 */
#include <inttypes.h>
#include <string.h>

#include "inspect/explain_promises.h"

static const struct tool_option explain_options[] = {
	{ "layers", 0, NULL, "the promises of each layer, not of the top alone" },
	TOOL_SET_OPTION,
	TOOL_JSON_OPTION,
	{ 0 },
};

/* ------------------------------------------------------------------------ text */

/* The next attribute of the part, from `at` on, that applications set. */
static const struct nopal_attribute *explain_property(const struct nopal_attribute *at)
{
	while (at && at->name && at->access != NOPAL_PROPERTY)
		at++;
	return at && at->name ? at : NULL;
}

static void explain_print_properties(const struct nopal_plan *plan)
{
	printf("\nproperties of a message\n  %-19s %-24s %s\n", "urgent", "the runtime's",
	       "goes first among those that wait");
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_microprotocol *one = nopal_plan_part(plan, i)->microprotocol;
		const struct nopal_attribute *at = one->attributes;

		while ((at = explain_property(at))) {
			printf("  %-19s %-24s %s\n", at->name, one->name, at->doc ? at->doc : "");
			at++;
		}
	}
}

static void explain_print(const struct nopal_plan *plan, const struct nopal_problems *notes,
			  bool layers)
{
	const struct nopal_budget *budget = nopal_plan_budget(plan);
	const struct nopal_plan_field *fields;
	size_t count;

	printf("%s: %s\n", nopal_plan_name(plan), nopal_plan_description(plan));
	printf("fingerprint %016" PRIx64 ", messages up to %" PRIu64 " bytes\n",
	       nopal_plan_fingerprint(plan), nopal_plan_message_limit(plan));
	printf("runs %s\n", nopal_plan_runs(plan));
	printf("budget of a session: %" PRIu64 " bytes, %u objects, %" PRIu64 " bytes unfinished\n",
	       budget->bytes, budget->objects, budget->send_bytes);
	explain_promises_print(plan, layers);
	count = nopal_plan_fields(plan, &fields);
	printf("\nheader: %u bytes of a data datagram; %u are left for a body\n",
	       nopal_plan_header_bytes(plan), nopal_plan_body_bytes(plan));
	for (size_t i = 0; i < count; i++)
		printf("  %3u  %-19s %s\n", fields[i].bytes, fields[i].attribute,
		       fields[i].microprotocol ? fields[i].microprotocol : "the runtime's");
	explain_print_properties(plan);
	printf("\nmicroprotocols\n");
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_part *part = nopal_plan_part(plan, i);
		const struct nopal_microprotocol *one = part->microprotocol;
		const struct nopal_parameter *parameter = one->parameters;
		char text[SHOW_VALUE_ROOM];

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

static json_t *explain_fields_json(const struct nopal_plan *plan)
{
	const struct nopal_plan_field *fields;
	size_t count = nopal_plan_fields(plan, &fields);
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array,
				      json_pack("{s:s, s:s?, s:i}", "field", fields[i].attribute,
						"microprotocol", fields[i].microprotocol, "bytes",
						(int)fields[i].bytes));
	return array;
}

static json_t *explain_properties_json(const struct nopal_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_microprotocol *one = nopal_plan_part(plan, i)->microprotocol;
		const struct nopal_attribute *at = one->attributes;

		while ((at = explain_property(at))) {
			json_array_append_new(array, json_pack("{s:s, s:s}", "name", at->name,
							       "microprotocol", one->name));
			at++;
		}
	}
	return array;
}

static json_t *explain_parts_json(const struct nopal_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_part *part = nopal_plan_part(plan, i);
		const struct nopal_parameter *parameter = part->microprotocol->parameters;
		json_t *values = json_object();
		char text[SHOW_VALUE_ROOM];

		for (; parameter && parameter->name; parameter++)
			json_object_set_new(values, parameter->name,
					    json_string(show_value(part, parameter, text)));
		json_array_append_new(array, json_pack("{s:s, s:s, s:o}", "name",
						       part->microprotocol->name, "summary",
						       part->microprotocol->summary, "parameters",
						       values));
	}
	return array;
}

static void explain_json(const struct nopal_plan *plan, const struct nopal_problems *notes)
{
	json_t *object = show_object("nopal.explain");
	char fingerprint[SHOW_VALUE_ROOM];
	const struct nopal_budget *budget;
	json_t *array;

	snprintf(fingerprint, sizeof(fingerprint), "%016" PRIx64, nopal_plan_fingerprint(plan));
	json_object_set_new(object, "name", json_string(nopal_plan_name(plan)));
	json_object_set_new(object, "description", json_string(nopal_plan_description(plan)));
	json_object_set_new(object, "fingerprint", json_string(fingerprint));
	json_object_set_new(object, "canonical", json_string(nopal_plan_canonical(plan)));
	json_object_set_new(object, "runs", json_string(nopal_plan_runs(plan)));
	json_object_set_new(object, "promises", explain_promises_json(plan, 0));
	array = json_array();
	for (unsigned l = 0; l < nopal_plan_layers(plan); l++)
		json_array_append_new(array, json_pack("{s:s, s:o}", "layer",
						       nopal_plan_layer_name(plan, l), "promises",
						       explain_promises_json(plan, l)));
	json_object_set_new(object, "layers", array);
	json_object_set_new(object, "header_bytes", json_integer(nopal_plan_header_bytes(plan)));
	json_object_set_new(object, "body_bytes", json_integer(nopal_plan_body_bytes(plan)));
	json_object_set_new(object, "message_limit_bytes",
			    json_integer((json_int_t)nopal_plan_message_limit(plan)));
	budget = nopal_plan_budget(plan);
	json_object_set_new(object, "budget",
			    json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)budget->bytes,
				      "objects", (json_int_t)budget->objects, "send_bytes",
				      (json_int_t)budget->send_bytes));
	json_object_set_new(object, "fields", explain_fields_json(plan));
	json_object_set_new(object, "properties", explain_properties_json(plan));
	json_object_set_new(object, "microprotocols", explain_parts_json(plan));
	json_object_set_new(object, "notes", show_problems(notes));
	show_json(object);
}

static enum tool_exit explain_run(const struct tool_call *call)
{
	struct nopal_problems problems;
	struct nopal_plan *plan;

	nopal_problems_init(&problems);
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
