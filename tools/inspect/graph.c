/* SPDX-License-Identifier: MIT */
/*
 * graph.c -- nopal graph: who meets whom in a composition.
 *
 * Events with their handlers in run order, holds by barrier, attributes and shared variables with
 * their writer and readers: for data segments.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/graph.h"

static const struct tool_option graph_options[] = {
	{ "dot", 0, NULL, "print a picture for Graphviz" },
	{ "event", 'e', "EVENT", "this event alone: its handlers, and what they share" },
	{ "part", 'p', "NAME", "this microprotocol alone, with its neighbours" },
	TOOL_SET_OPTION,
	TOOL_JSON_OPTION,
	{ 0 },
};

size_t graph_handlers(const struct graph_view *view, unsigned event,
		      const struct nopal_part **ret_parts)
{
	size_t count = nopal_plan_handlers(view->plan, event, ret_parts, GRAPH_HANDLERS);

	return count < GRAPH_HANDLERS ? count : GRAPH_HANDLERS;
}

bool graph_raises(const struct nopal_microprotocol *one, unsigned event)
{
	const char *const *raised = one->raises;

	while (raised && *raised && strcmp(*raised, nopal_event_name(event)) != 0)
		raised++;
	return raised && *raised;
}

int graph_shared(const struct graph_view *view, size_t writer, size_t reader, const char **names)
{
	const struct nopal_shared *shared =
		nopal_plan_part(view->plan, writer)->microprotocol->shared;
	const struct nopal_microprotocol *to = nopal_plan_part(view->plan, reader)->microprotocol;
	struct show_entry entry;
	int count = 0;

	if (writer == reader ||
	    nopal_plan_part_layer(view->plan, writer) != nopal_plan_part_layer(view->plan, reader))
		return 0;
	for (; shared && shared->name; shared++) {
		if (shared->access != NOPAL_WRITE ||
		    !show_find(to, SHOW_SHARED, shared->name, &entry) ||
		    entry.access == NOPAL_WRITE)
			continue;
		if (names)
			names[count] = shared->name;
		count++;
	}
	return count;
}

/* --------------------------------------------------------------- text, JSON */

static bool graph_handles(const struct graph_view *view, size_t part, unsigned event)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	size_t count = graph_handlers(view, event, parts);

	for (size_t i = 0; i < count; i++)
		if (parts[i]->index == part)
			return true;
	return false;
}

/* Is the part of the view itself, and no neighbour? */
static bool graph_shows_part(const struct graph_view *view, size_t index)
{
	const char *name = nopal_plan_part(view->plan, index)->microprotocol->name;

	if (view->event != NOPAL_NO_EVENT)
		return graph_handles(view, index, view->event);
	return !view->part || strcmp(view->part, name) == 0;
}

static bool graph_shows_event(const struct graph_view *view, unsigned event)
{
	if (view->event != NOPAL_NO_EVENT)
		return view->event == event;
	for (size_t i = 0; i < nopal_plan_part_count(view->plan); i++)
		if (graph_shows_part(view, i) &&
		    (graph_handles(view, i, event) ||
		     graph_raises(nopal_plan_part(view->plan, i)->microprotocol, event)))
			return true;
	return !view->part;
}

/* Handlers of each event in run order: a line an event, or the object that is returned. */
static json_t *graph_events(const struct graph_view *view, bool json)
{
	const struct nopal_part *parts[GRAPH_HANDLERS];
	json_t *object = json ? json_object() : NULL;
	const char *name;

	for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event)); event++) {
		size_t count = graph_handlers(view, event, parts);
		json_t *array;

		if (!graph_shows_event(view, event))
			continue;
		array = json ? json_array() : NULL;
		if (!json && count)
			printf("  %-22s ", name);
		for (size_t i = 0; i < count; i++) {
			const char *handler = parts[i]->microprotocol->name;

			if (json)
				json_array_append_new(array, json_string(handler));
			else
				printf("%s%s", i ? " > " : "", handler);
		}
		if (!json && count)
			printf("\n");
		if (json)
			json_object_set_new(object, name, array);
	}
	return object;
}

/* Does the view show who uses this attribute or shared variable? */
static bool graph_shows_entry(const struct graph_view *view, enum show_table table,
			      const char *name)
{
	struct show_entry entry;

	for (size_t i = 0; i < nopal_plan_part_count(view->plan); i++)
		if (graph_shows_part(view, i) &&
		    show_find(nopal_plan_part(view->plan, i)->microprotocol, table, name, &entry))
			return true;
	return false;
}

/* Writers and readers of each attribute or shared variable, in the same forms. */
static json_t *graph_table(const struct graph_view *view, enum show_table table, bool json)
{
	const char **names = show_names(view->plan, table);
	json_t *object = json ? json_object() : NULL;

	for (const char **name = names; *name; name++) {
		json_t *users;

		if (!graph_shows_entry(view, table, *name))
			continue;
		users = json ? json_object() : NULL;
		if (!json)
			printf("  %-23s", *name);
		for (size_t i = 0; i < nopal_plan_part_count(view->plan); i++) {
			const struct nopal_microprotocol *one =
				nopal_plan_part(view->plan, i)->microprotocol;
			struct show_entry entry;

			if (!show_find(one, table, *name, &entry))
				continue;
			if (json)
				json_object_set_new(users, one->name,
						    json_string(show_access(entry.access)));
			else
				printf(" %s%s", one->name, entry.access == NOPAL_WRITE ? "!" : "");
		}
		if (json)
			json_object_set_new(object, *name, users);
		else
			printf("\n");
	}
	free(names);
	return object;
}

/* Of one barrier as text, or of all as an array. */
static json_t *graph_holds(const struct graph_view *view, bool json, enum nopal_barrier barrier)
{
	json_t *array = json ? json_array() : NULL;

	for (size_t i = 0; i < nopal_plan_part_count(view->plan); i++) {
		const struct nopal_microprotocol *one =
			nopal_plan_part(view->plan, i)->microprotocol;
		const struct nopal_hold *hold = graph_shows_part(view, i) ? one->holds : NULL;

		for (; hold && hold->why; hold++) {
			const char *kinds = show_kinds(one, hold->kinds);

			if (json)
				json_array_append_new(
					array,
					json_pack("{s:s, s:s, s:s, s:s, s:b}", "microprotocol",
						  one->name, "barrier", show_barrier(hold->barrier),
						  "why", hold->why, "kinds", kinds, "sticky",
						  hold->sticky));
			else if (hold->barrier == barrier)
				printf("  %-11s %-24s %s (%s%s)\n", show_barrier(barrier),
				       one->name, hold->why, kinds, hold->sticky ? ", once" : "");
		}
	}
	return array;
}

static void graph_text(const struct graph_view *view)
{
	printf("events, with their handlers for data in run order\n");
	graph_events(view, false);
	printf("\nholds, by barrier\n");
	for (enum nopal_barrier barrier = 0; barrier < NOPAL_BARRIERS; barrier++)
		graph_holds(view, false, barrier);
	printf("\nattributes (! writes)\n");
	graph_table(view, SHOW_ATTRIBUTES, false);
	printf("\nshared variables (! writes)\n");
	graph_table(view, SHOW_SHARED, false);
}

static void graph_json(const struct graph_view *view)
{
	json_t *object = show_object("nopal.graph");

	json_object_set_new(object, "name", json_string(nopal_plan_info(view->plan)->name));
	json_object_set_new(object, "events", graph_events(view, true));
	json_object_set_new(object, "holds", graph_holds(view, true, NOPAL_SEND));
	json_object_set_new(object, "attributes", graph_table(view, SHOW_ATTRIBUTES, true));
	json_object_set_new(object, "shared", graph_table(view, SHOW_SHARED, true));
	show_json(object);
}

/* ------------------------------------------------------------------ command */

/* Says that the list has no such name; false. */
static bool graph_unknown(const char *what, const char *name, const char *const *names,
			  const char *list)
{
	const char *near = nopal_nearest(name, names);

	fprintf(stderr, "nopal graph: there is no %s `%s`\n  fix: ", what, name);
	if (near)
		fprintf(stderr, "did you mean `%s`?\n", near);
	else
		fprintf(stderr, "one of `%s`\n", list);
	return false;
}

/* Takes the options; false: a problem was printed. */
static bool graph_choose(const struct tool_call *call, struct graph_view *view)
{
	const char *event = tool_value(call, "event"), *part = tool_value(call, "part");
	const char *names[GRAPH_HANDLERS + 1] = { 0 };
	unsigned count = 0;

	if (event && part) {
		fprintf(stderr, "nopal graph: --event and --part exclude each other\n"
				"  fix: leave one of them out\n");
		return false;
	}
	if (event) {
		for (; (names[count] = nopal_event_name(count + 1)); count++)
			if (strcmp(names[count], event) == 0)
				view->event = count + 1;
		return view->event != NOPAL_NO_EVENT ||
		       graph_unknown("event", event, names, "nopal list events");
	}
	for (; part && count < nopal_plan_part_count(view->plan); count++) {
		names[count] = nopal_plan_part(view->plan, count)->microprotocol->name;
		if (strcmp(names[count], part) == 0)
			view->part = names[count];
	}
	return !part || view->part ||
	       graph_unknown("microprotocol in this composition", part, names, "nopal graph CONF");
}

static enum tool_exit graph_run(const struct tool_call *call)
{
	struct graph_view view = { .plan = tool_plan(call, call->words[0]) };
	bool chosen = view.plan && graph_choose(call, &view);

	if (chosen && tool_value(call, "json"))
		graph_json(&view);
	else if (chosen && tool_value(call, "dot"))
		graph_picture(&view);
	else if (chosen)
		graph_text(&view);
	nopal_plan_unref(view.plan);
	return chosen ? TOOL_GOOD : TOOL_BAD_INPUT;
}

const struct tool tool_graph = {
	.name = "graph",
	.words = "CONF",
	.summary = "events, handlers in run order, holds, attributes, shared variables",
	.help = "Prints who handles which event in which order, who holds which barrier, and "
		"who\nreads what from whom.\n\n"
		"  nopal graph bulk\n"
		"  nopal graph bulk --dot | dot -Tsvg > bulk.svg\n"
		"  nopal graph bulk --event SEGMENT_FROM_NET\n"
		"  nopal graph bulk --part retransmit --dot | dot -Tsvg > retransmit.svg",
	.min_words = 1,
	.max_words = 1,
	.options = graph_options,
	.run = graph_run,
};
