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

enum { LIST_TEXT_ROOM = 512 };

/* Roles and the microprotocols that provide them, or the kind of each attribute or shared variable
 * and the words of its writer. */
static void list_table(const struct list_out *out, enum show_table table)
{
	const char **names = show_names(NULL, table);

	for (const char **name = names; *name; name++) {
		const char *about = table == SHOW_ROLES ? "" : "read only", *doc = "";
		char providers[LIST_TEXT_ROOM] = "";

		for (size_t i = 0; i < nopal_registry_count(); i++) {
			const struct nopal_microprotocol *one = nopal_registry_at(i);
			size_t length = strlen(providers);
			struct show_entry entry;

			if (!show_find(one, table, *name, &entry))
				continue;
			if (table == SHOW_ROLES) {
				about = entry.exclusive ? "exclusive" : about;
				snprintf(providers + length, sizeof(providers) - length, "%s%s",
					 length ? ", " : "", one->name);
			} else if (entry.access == NOPAL_PROPERTY || entry.access == NOPAL_WRITE) {
				about = table == SHOW_SHARED		 ? "shared"
					: entry.access == NOPAL_PROPERTY ? "property"
					: entry.wire			 ? "wire"
									 : "local";
				doc = entry.doc ? entry.doc : "";
			}
		}
		list_entry(out, *name, about, table == SHOW_ROLES ? providers : doc);
	}
	free(names);
}

enum list_table {
	LIST_MICROPROTOCOLS,
	LIST_EVENTS,
	LIST_ATTRIBUTES,
	LIST_SHARED,
	LIST_ROLES,
	LIST_CONFIGS,
	LIST_TABLES,
};
static const char *const list_words[LIST_TABLES + 1] = {
	"microprotocols", "events", "attributes", "shared", "roles", "configs",
};

static void list_print(const struct list_out *out, enum list_table table)
{
	const char *name;
	char **configs;

	switch (table) {
	case LIST_MICROPROTOCOLS:
		for (size_t i = 0; i < nopal_registry_count(); i++)
			list_entry(out, nopal_registry_at(i)->name, nopal_registry_at(i)->family,
				   nopal_registry_at(i)->summary);
		break;
	case LIST_EVENTS:
		for (unsigned event = NOPAL_NO_EVENT + 1; (name = nopal_event_name(event));
		     event++) {
			const char *argument = nopal_event_argument(event);
			const char *type = strrchr(argument, '_');

			list_entry(out, name, type ? type + 1 : argument, nopal_event_doc(event));
		}
		break;
	case LIST_ATTRIBUTES:
		list_table(out, SHOW_ATTRIBUTES);
		break;
	case LIST_SHARED:
		list_table(out, SHOW_SHARED);
		break;
	case LIST_ROLES:
		list_table(out, SHOW_ROLES);
		break;
	case LIST_CONFIGS:
		configs = show_configs();
		for (char **config = configs; *config; config++) {
			struct nopal_problems problems = { 0 };
			struct nopal_plan *plan = NULL;

			if (!out->names_only)
				plan = nopal_plan_load(*config, NULL, &problems);
			list_entry(out, *config, plan ? "good" : "problems",
				   plan ? nopal_plan_info(plan)->description : "");
			nopal_plan_unref(plan);
			if (problems.no_memory)
				tool_lacks_memory();
			nopal_problems_fini(&problems);
			free(*config);
		}
		free(configs);
		break;
	case LIST_TABLES:
		break;
	}
}

static enum tool_exit list_run(const struct tool_call *call)
{
	const char *word = call->word_count ? call->words[0] : list_words[LIST_MICROPROTOCOLS];
	struct list_out out = { .names_only = tool_value(call, "names") != NULL };
	unsigned table = 0;
	const char *near;

	while (table < LIST_TABLES && strcmp(list_words[table], word) != 0)
		table++;
	if (table == LIST_TABLES) {
		near = nopal_nearest(word, list_words);
		fprintf(stderr, "nopal list: there is no list of `%s`\n  fix: ", word);
		if (near)
			fprintf(stderr, "did you mean `nopal list %s`?\n", near);
		else
			fprintf(stderr,
				"microprotocols, events, attributes, shared, roles or configs\n");
		return TOOL_BAD_INPUT;
	}
	if (tool_value(call, "json"))
		out.array = json_array();
	list_print(&out, (enum list_table)table);
	if (out.array) {
		json_t *object = show_object("nopal.list");

		json_object_set_new(object, word, out.array);
		show_json(object);
	}
	return TOOL_GOOD;
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
