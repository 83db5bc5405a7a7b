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

enum { GRAPH_HANDLERS = 256 }; /* of one event; those beyond are not shown */

enum graph_form { GRAPH_TEXT, GRAPH_DOT, GRAPH_JSON };

/* Handlers of each event in run order: a line an event, an arrow a handler, or the object that is
 * returned. */
static json_t *graph_events(const struct nopal_plan *plan, enum graph_form form)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	json_t *object = form == GRAPH_JSON ? json_object() : NULL;
	const char *name;

	for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event)); event++) {
		size_t count = nopal_plan_handlers(plan, event, parts, GRAPH_HANDLERS);
		json_t *array = object ? json_array() : NULL;

		if (form == GRAPH_TEXT && count)
			printf("  %-18s", name);
		for (size_t i = 0; i < count && i < GRAPH_HANDLERS; i++) {
			const char *handler = parts[i]->microprotocol->name;

			if (form == GRAPH_TEXT)
				printf("%s%s", i ? " > " : "", handler);
			else if (form == GRAPH_DOT)
				printf("\t\"%s\" -> \"%s\" [label=%zu];\n", name, handler, i + 1);
			else
				json_array_append_new(array, json_string(handler));
		}
		if (form == GRAPH_TEXT && count)
			printf("\n");
		if (object)
			json_object_set_new(object, name, array);
	}
	return object;
}

/* Writers and readers of each attribute or shared variable, in the same forms. */
static json_t *graph_table(const struct nopal_plan *plan, enum show_table table,
			   enum graph_form form)
{
	const char **names = show_names(plan, table);
	json_t *object = form == GRAPH_JSON ? json_object() : NULL;

	for (const char **name = names; *name; name++) {
		json_t *users = object ? json_object() : NULL;

		if (!object)
			printf(form == GRAPH_TEXT ? "  %-20s" : "\t\"%s\" [shape=note];\n", *name);
		for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
			const struct nopal_microprotocol *one =
				nopal_plan_part(plan, i)->microprotocol;
			struct show_entry entry;
			bool writes;

			if (!show_find(one, table, *name, &entry))
				continue;
			writes = entry.access == NOPAL_WRITE;
			if (form == GRAPH_TEXT)
				printf(" %s%s", one->name, writes ? "!" : "");
			else if (form == GRAPH_DOT)
				printf("\t\"%s\" -> \"%s\" [color=blue];\n",
				       writes ? one->name : *name, writes ? *name : one->name);
			else
				json_object_set_new(users, one->name,
						    json_string(show_access(entry.access)));
		}
		if (form == GRAPH_TEXT)
			printf("\n");
		if (object)
			json_object_set_new(object, *name, users);
	}
	free(names);
	return object;
}

/* Of one barrier as text, or of all as an array. */
static json_t *graph_holds(const struct nopal_plan *plan, enum graph_form form,
			   enum nopal_barrier barrier)
{
	json_t *array = form == GRAPH_JSON ? json_array() : NULL;

	for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
		const char *name = nopal_plan_part(plan, i)->microprotocol->name;
		const struct nopal_hold *hold = nopal_plan_part(plan, i)->microprotocol->holds;

		for (; hold && hold->why; hold++) {
			const char *kinds =
				show_kinds(nopal_plan_part(plan, i)->microprotocol, hold->kinds);

			if (array)
				json_array_append_new(array,
						      json_pack("{s:s, s:s, s:s, s:s, s:b}",
								"microprotocol", name, "barrier",
								show_barrier(hold->barrier), "why",
								hold->why, "kinds", kinds, "sticky",
								hold->sticky));
			else if (hold->barrier == barrier)
				printf("  %-11s %-24s %s (%s%s)\n", show_barrier(barrier), name,
				       hold->why, kinds, hold->sticky ? ", once" : "");
		}
	}
	return array;
}

static enum tool_exit graph_run(const struct tool_call *call)
{
	struct nopal_plan *plan = tool_plan(call, call->words[0]);

	if (!plan)
		return TOOL_BAD_INPUT;
	if (tool_value(call, "json")) {
		json_t *object = show_object("nopal.graph");

		json_object_set_new(object, "name", json_string(nopal_plan_info(plan)->name));
		json_object_set_new(object, "events", graph_events(plan, GRAPH_JSON));
		json_object_set_new(object, "holds", graph_holds(plan, GRAPH_JSON, NOPAL_SEND));
		json_object_set_new(object, "attributes",
				    graph_table(plan, SHOW_ATTRIBUTES, GRAPH_JSON));
		json_object_set_new(object, "shared", graph_table(plan, SHOW_SHARED, GRAPH_JSON));
		show_json(object);
	} else if (tool_value(call, "dot")) {
		printf("digraph \"%s\" {\n\trankdir=LR;\n", nopal_plan_info(plan)->name);
		for (size_t i = 0; i < nopal_plan_part_count(plan); i++) {
			const struct nopal_microprotocol *one =
				nopal_plan_part(plan, i)->microprotocol;
			const char *const *raised = one->raises;

			printf("\t\"%s\" [shape=box];\n", one->name);
			for (; raised && *raised; raised++)
				printf("\t\"%s\" -> \"%s\" [style=dashed];\n", one->name, *raised);
		}
		graph_events(plan, GRAPH_DOT);
		graph_table(plan, SHOW_SHARED, GRAPH_DOT);
		printf("}\n");
	} else {
		printf("events, with their handlers for data in run order\n");
		graph_events(plan, GRAPH_TEXT);
		printf("\nholds, by barrier\n");
		for (enum nopal_barrier barrier = 0; barrier < NOPAL_BARRIERS; barrier++)
			graph_holds(plan, GRAPH_TEXT, barrier);
		printf("\nattributes (! writes)\n");
		graph_table(plan, SHOW_ATTRIBUTES, GRAPH_TEXT);
		printf("\nshared variables (! writes)\n");
		graph_table(plan, SHOW_SHARED, GRAPH_TEXT);
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
