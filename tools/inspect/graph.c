/* SPDX-License-Identifier: MIT */
/*
 * graph.c -- nopal graph: who meets whom in a composition.
 *
 * Events with their handlers in run order, holds by barrier, attributes and shared variables with
 * their writer and readers: for data segments.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/show.h"

static const struct tool_option graph_options[] = {
	{ "dot", 0, NULL, "print a graph for Graphviz" },
	TOOL_SET_OPTION,
	TOOL_JSON_OPTION,
	{ 0 },
};

enum { GRAPH_HANDLERS = 256 };

/* Runs of one event; those beyond the room are not shown. */
static size_t graph_handlers(const struct nopal_plan *plan, unsigned event,
			     const struct nopal_part **parts)
{
	size_t count = nopal_plan_handlers(plan, event, parts, GRAPH_HANDLERS);

	return count < GRAPH_HANDLERS ? count : GRAPH_HANDLERS;
}

/* ------------------------------------------------------------------------ text */

static void graph_print_events(const struct nopal_plan *plan)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	const char *name;

	printf("events, with their handlers for data in run order\n");
	for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event)) != NULL;
	     event++) {
		size_t count = graph_handlers(plan, event, parts);

		if (!count)
			continue;
		printf("  %-18s", name);
		for (size_t i = 0; i < count; i++)
			printf("%s%s", i ? " > " : "", parts[i]->microprotocol->name);
		printf("\n");
	}
}

static void graph_print_barrier(const struct nopal_plan *plan, int barrier)
{
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_microprotocol *one = nopal_plan_part(plan, i)->microprotocol;
		const struct nopal_hold *hold = one->holds;

		for (; hold && hold->why; hold++) {
			if ((int)hold->barrier == barrier)
				printf("  %-11s %-24s %s (%s%s)\n", show_barrier(hold->barrier),
				       one->name, hold->why, show_kinds(one, hold->kinds),
				       hold->sticky ? ", once" : "");
		}
	}
}

static void graph_print_table(const struct nopal_plan *plan, enum show_table table)
{
	const char **names = show_names(plan, table);

	for (const char **name = names; *name; name++) {
		printf("  %-20s", *name);
		for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
			const struct nopal_microprotocol *one =
				nopal_plan_part(plan, i)->microprotocol;
			int access = show_uses(one, table, *name);

			if (access >= 0)
				printf(" %s%s", one->name, access == NOPAL_WRITE ? "!" : "");
		}
		printf("\n");
	}
	free(names);
}

/* ------------------------------------------------------------------------- dot */

static void graph_dot_shared(const struct nopal_plan *plan)
{
	const char **names = show_names(plan, SHOW_SHARED);

	for (const char **name = names; *name; name++) {
		printf("\t\"%s\" [shape=note];\n", *name);
		for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
			const char *who = nopal_plan_part(plan, i)->microprotocol->name;
			int access = show_uses(nopal_plan_part(plan, i)->microprotocol, SHOW_SHARED,
					       *name);

			if (access == NOPAL_WRITE)
				printf("\t\"%s\" -> \"%s\" [color=blue];\n", who, *name);
			else if (access >= 0)
				printf("\t\"%s\" -> \"%s\" [color=blue];\n", *name, who);
		}
	}
	free(names);
}

static void graph_dot(const struct nopal_plan *plan)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	const char *name;

	printf("digraph \"%s\" {\n\trankdir=LR;\n", nopal_plan_info(plan)->name);
	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const struct nopal_microprotocol *one = nopal_plan_part(plan, i)->microprotocol;
		const char *const *raised;

		printf("\t\"%s\" [shape=box];\n", one->name);
		raised = one->raises;
		for (; raised && *raised; raised++)
			printf("\t\"%s\" -> \"%s\" [style=dashed];\n", one->name, *raised);
	}
	for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event)) != NULL;
	     event++) {
		size_t count = graph_handlers(plan, event, parts);

		for (size_t i = 0; i < count; i++)
			printf("\t\"%s\" -> \"%s\" [label=%zu];\n", name,
			       parts[i]->microprotocol->name, i + 1);
	}
	graph_dot_shared(plan);
	printf("}\n");
}

/* ------------------------------------------------------------------------ JSON */

static json_t *graph_events_json(const struct nopal_plan *plan)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	json_t *object = json_object();
	const char *name;

	for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event)) != NULL;
	     event++) {
		size_t count = graph_handlers(plan, event, parts);
		json_t *array = json_array();

		for (size_t i = 0; i < count; i++)
			json_array_append_new(array, json_string(parts[i]->microprotocol->name));
		json_object_set_new(object, name, array);
	}
	return object;
}

static json_t *graph_table_json(const struct nopal_plan *plan, enum show_table table)
{
	const char **names = show_names(plan, table);
	json_t *object = json_object();

	for (const char **name = names; *name; name++) {
		json_t *users = json_object();

		for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
			const struct nopal_microprotocol *one =
				nopal_plan_part(plan, i)->microprotocol;
			int access = show_uses(one, table, *name);

			if (access >= 0)
				json_object_set_new(
					users, one->name,
					json_string(show_access((enum nopal_access)access)));
		}
		json_object_set_new(object, *name, users);
	}
	free(names);
	return object;
}

static enum tool_exit graph_run(const struct tool_call *call)
{
	struct nopal_plan *plan = tool_plan(call, call->words[0]);

	if (!plan)
		return TOOL_BAD_INPUT;
	if (tool_value(call, "json")) {
		json_t *object = show_object("nopal.graph");
		json_t *array;

		json_object_set_new(object, "name", json_string(nopal_plan_info(plan)->name));
		json_object_set_new(object, "events", graph_events_json(plan));
		array = json_array();
		for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
			const struct nopal_microprotocol *one =
				nopal_plan_part(plan, i)->microprotocol;
			const struct nopal_hold *hold = one->holds;

			for (; hold && hold->why; hold++)
				json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:s, s:b}",
								       "microprotocol", one->name,
								       "barrier",
								       show_barrier(hold->barrier),
								       "why", hold->why, "kinds",
								       show_kinds(one, hold->kinds),
								       "sticky", hold->sticky));
		}
		json_object_set_new(object, "holds", array);
		json_object_set_new(object, "attributes", graph_table_json(plan, SHOW_ATTRIBUTES));
		json_object_set_new(object, "shared", graph_table_json(plan, SHOW_SHARED));
		show_json(object);
	} else if (tool_value(call, "dot")) {
		graph_dot(plan);
	} else {
		graph_print_events(plan);
		printf("\nholds, by barrier\n");
		for (int barrier = 0; barrier < NOPAL_BARRIERS; barrier++)
			graph_print_barrier(plan, barrier);
		printf("\nattributes (! writes)\n");
		graph_print_table(plan, SHOW_ATTRIBUTES);
		printf("\nshared variables (! writes)\n");
		graph_print_table(plan, SHOW_SHARED);
	}
	nopal_plan_unref(plan);
	return TOOL_GOOD;
}

const struct tool tool_graph = {
	.name = "graph",
	.words = "CONF",
	.summary = "events, handlers in run order, holds, attributes, shared variables",
	.help = "Prints who handles which event in which order, who holds which barrier, and "
		"who\nreads what from whom.\n\n"
		"  nopal graph bulk\n"
		"  nopal graph bulk --dot | dot -Tsvg > bulk.svg",
	.min_words = 1,
	.max_words = 1,
	.options = graph_options,
	.run = graph_run,
};
