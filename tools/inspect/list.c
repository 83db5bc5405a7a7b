/* SPDX-License-Identifier: MIT */
/*
 * list.c -- nopal list: what is there.
 */
#include <stdlib.h>
#include <string.h>

#include "inspect/show.h"

static const struct tool_option list_options[] = {
	{ "names", 0, NULL, "names alone, one a line" },
	TOOL_JSON_OPTION,
	{ 0 },
};

/* Where entries go: a line, or a member of an array. */
struct list_out {
	bool names_only;
	json_t *array; /* NULL: text */
};

static void list_entry(const struct list_out *out, const char *name, const char *about,
		       const char *text)
{
	if (out->array)
		json_array_append_new(out->array, json_pack("{s:s, s:s, s:s}", "name", name,
							    "about", about, "doc", text));
	else if (out->names_only)
		printf("%s\n", name);
	else
		printf("%-24s %-12s %s\n", name, about, text);
}

static void list_microprotocols(const struct list_out *out)
{
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);

		list_entry(out, one->name, one->family, one->summary);
	}
}

static void list_events(const struct list_out *out)
{
	const char *name;

	for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event)) != NULL;
	     event++) {
		const char *argument = nopal_event_argument(event);
		const char *type = strrchr(argument, '_');

		list_entry(out, name, type ? type + 1 : argument, nopal_event_doc(event));
	}
}

/* The kind of each attribute or shared variable, and the words of its writer. */
static void list_table(const struct list_out *out, enum show_table table)
{
	const char **names = show_names(NULL, table);

	for (const char **name = names; *name; name++) {
		const char *about = "read only", *text = "";

		for (size_t i = 0; i < nopal_registry_count(); i++) {
			const struct nopal_microprotocol *one = nopal_registry_at(i);
			const struct nopal_attribute *attribute = show_attribute(one, *name);
			const struct nopal_shared *shared = show_shared(one, *name);
			int access = show_uses(one, table, *name);

			if (access != NOPAL_WRITE && access != NOPAL_PROPERTY)
				continue;
			if (table == SHOW_SHARED)
				about = "shared";
			else if (access == NOPAL_PROPERTY)
				about = "property";
			else
				about = attribute->wire_bytes ? "wire" : "local";
			text = table == SHOW_SHARED ? shared->doc : attribute->doc;
		}
		list_entry(out, *name, about, text ? text : "");
	}
	free(names);
}

enum { LIST_TEXT_ROOM = 512 };

static void list_roles(const struct list_out *out)
{
	const char **names = show_names(NULL, SHOW_ROLES);

	for (const char **role = names; *role; role++) {
		char text[LIST_TEXT_ROOM] = "";
		bool exclusive = false;

		for (size_t i = 0; i < nopal_registry_count(); i++) {
			const struct nopal_microprotocol *one = nopal_registry_at(i);
			const struct nopal_role *provided = one->provides;
			size_t length = strlen(text);

			if (!show_provides(one, *role))
				continue;
			while (strcmp(provided->name, *role) != 0)
				provided++;
			exclusive = exclusive || provided->exclusive;
			snprintf(text + length, sizeof(text) - length, "%s%s", length ? ", " : "",
				 one->name);
		}
		list_entry(out, *role, exclusive ? "exclusive" : "", text);
	}
	free(names);
}

static void list_configs(const struct list_out *out)
{
	char **names = show_configs();

	for (char **name = names; *name; name++) {
		struct nopal_problems problems = { 0 };
		struct nopal_plan *plan = NULL;

		if (!out->names_only)
			plan = nopal_plan_load(*name, NULL, &problems);
		list_entry(out, *name, plan ? "good" : "problems",
			   plan ? nopal_plan_info(plan)->description : "");
		nopal_plan_unref(plan);
		if (problems.no_memory)
			tool_lacks_memory();
		nopal_problems_fini(&problems);
		free(*name);
	}
	free(names);
}

/* A list by its word; `print` is NULL: of `table`. */
static const struct {
	const char *what;
	void (*print)(const struct list_out *out);
	enum show_table table;
} list_tables[] = {
	{ .what = "microprotocols", .print = list_microprotocols },
	{ .what = "events", .print = list_events },
	{ .what = "attributes", .table = SHOW_ATTRIBUTES },
	{ .what = "shared", .table = SHOW_SHARED },
	{ .what = "roles", .print = list_roles },
	{ .what = "configs", .print = list_configs },
};
enum { LIST_TABLES = sizeof(list_tables) / sizeof(*list_tables) };

static enum tool_exit list_run(const struct tool_call *call)
{
	const char *what = call->word_count ? call->words[0] : list_tables[0].what;
	struct list_out out = {
		.names_only = tool_value(call, "names") != NULL,
		.array = tool_value(call, "json") ? json_array() : NULL,
	};
	json_t *object;
	const char *names[LIST_TABLES + 1] = { 0 };
	const char *near;

	for (size_t i = 0; i < LIST_TABLES; i++) {
		if (strcmp(list_tables[i].what, what) != 0)
			continue;
		if (list_tables[i].print)
			list_tables[i].print(&out);
		else
			list_table(&out, list_tables[i].table);
		if (!out.array)
			return TOOL_GOOD;
		object = show_object("nopal.list");
		json_object_set_new(object, what, out.array);
		show_json(object);
		return TOOL_GOOD;
	}
	json_decref(out.array);
	for (size_t i = 0; i < LIST_TABLES; i++)
		names[i] = list_tables[i].what;
	near = nopal_nearest(what, names);
	fprintf(stderr, "nopal list: there is no list of `%s`\n  fix: ", what);
	if (near)
		fprintf(stderr, "did you mean `nopal list %s`?\n", near);
	else
		fprintf(stderr, "microprotocols, events, attributes, shared, roles or configs\n");
	return TOOL_BAD_INPUT;
}

const struct tool tool_list = {
	.name = "list",
	.words = "[microprotocols|events|attributes|shared|roles|configs]",
	.summary = "what is there: microprotocols, events, attributes, roles, configs",
	.help = "  nopal list\n"
		"  nopal list roles\n"
		"  nopal list configs --names",
	.min_words = 0,
	.max_words = 1,
	.options = list_options,
	.run = list_run,
};
