/* SPDX-License-Identifier: MIT */
/*
 * show.c -- descriptors and plans as words: see show.h.
 */
#include "inspect/show.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The version of every object's schema; it grows when a key changes meaning. */
enum { SHOW_SCHEMA_VERSION = 1 };

/* ------------------------------------------------------------------ enumerators */

#define SHOW_NAME(names, value)                                                                    \
	((size_t)(value) < sizeof(names) / sizeof(*(names)) ? (names)[value] : "?")

const char *show_access(enum nopal_access access)
{
	static const char *const names[] = {
		[NOPAL_WRITE] = "writes",
		[NOPAL_READ] = "reads",
		[NOPAL_READ_OPTIONAL] = "reads where it is there",
		[NOPAL_PROPERTY] = "the application sets",
	};

	return SHOW_NAME(names, access);
}

const char *show_barrier(enum nopal_barrier barrier)
{
	static const char *const names[] = {
		[NOPAL_SEND] = "send",
		[NOPAL_DONE] = "done",
		[NOPAL_DEALLOCATE] = "deallocate",
		[NOPAL_DELIVER] = "deliver",
	};

	return SHOW_NAME(names, barrier);
}

const char *show_unit(enum nopal_unit unit)
{
	static const char *const names[] = {
		[NOPAL_COUNT] = "number",	[NOPAL_TIME] = "time",
		[NOPAL_SIZE] = "size",		[NOPAL_RATE] = "rate",
		[NOPAL_PERCENT] = "percentage", [NOPAL_SWITCH] = "on|off",
		[NOPAL_WORD] = "word",		[NOPAL_FILE] = "file",
		[NOPAL_ADDRESS] = "address",
	};

	return SHOW_NAME(names, unit);
}

const char *show_kind_class(enum nopal_kind_class class)
{
	static const char *const names[] = {
		[NOPAL_KIND_CONTROL] = "control: leaves at once",
		[NOPAL_KIND_CARRIED] = "carried: leaves like data",
		[NOPAL_KIND_OPENING] = "opening: may reach a listener without a session",
		[NOPAL_KIND_ANSWER] = "answer: leaves at once, and opens its reader",
	};

	return SHOW_NAME(names, class);
}

const char *show_kinds(const struct nopal_microprotocol *one, unsigned kinds)
{
	switch (kinds) {
	case NOPAL_DATA:
		return "data";
	case NOPAL_CARRIED:
		return "carried";
	case NOPAL_EVERY_KIND:
		return "every kind";
	case NOPAL_REPLIES:
		return "replies";
	default:
		return one->kinds ? one->kinds[kinds - NOPAL_OWN_KIND].name : "?";
	}
}

/* ----------------------------------------------------------------------- values */

/* From the largest unit down to the one of 1. */
struct show_scale {
	const char *name;
	int64_t scale;
};

static const struct show_scale show_times[] = {
	{ "h", 3600 * NOPAL_SECOND }, { "min", 60 * NOPAL_SECOND }, { "s", NOPAL_SECOND },
	{ "ms", NOPAL_MILLISECOND },  { "us", NOPAL_MICROSECOND },  { "ns", 1 },
};
static const struct show_scale show_sizes[] = {
	{ "GiB", INT64_C(1) << 30 },
	{ "MiB", INT64_C(1) << 20 },
	{ "KiB", INT64_C(1) << 10 },
	{ "B", 1 },
};
static const struct show_scale show_rates[] = {
	{ "Gbit", 1000 * INT64_C(1000000) },
	{ "Mbit", 1000000 },
	{ "kbit", 1000 },
	{ "bit", 1 },
};

/* By the largest unit that leaves no rest. */
static void show_scaled(int64_t value, const struct show_scale *unit, char *text)
{
	while (unit->scale != 1 && (value == 0 || value % unit->scale != 0))
		unit++;
	snprintf(text, SHOW_VALUE_ROOM, "%" PRId64 "%s", value / unit->scale, unit->name);
}

static void show_choice(const char *choices, int64_t value, char *text)
{
	for (; choices && value > 0; value--) {
		choices = strchr(choices, '|');
		choices = choices ? choices + 1 : NULL;
	}
	snprintf(text, SHOW_VALUE_ROOM, "%.*s", choices ? (int)strcspn(choices, "|") : 1,
		 choices ? choices : "?");
}

const char *show_value(const struct nopal_part *part, const struct nopal_parameter *parameter,
		       char *text)
{
	const double parts_in_percent = 10000.0;
	struct nopal_address address;
	int64_t value;

	_Static_assert((int)SHOW_VALUE_ROOM >= (int)NOPAL_ADDRESS_TEXT, "an address has room");
	memcpy(&value, (const char *)part->parameters + parameter->offset, sizeof(value));
	switch (parameter->unit) {
	case NOPAL_TIME:
		show_scaled(value, show_times, text);
		break;
	case NOPAL_SIZE:
		show_scaled(value, show_sizes, text);
		break;
	case NOPAL_RATE:
		show_scaled(value, show_rates, text);
		break;
	case NOPAL_PERCENT:
		snprintf(text, SHOW_VALUE_ROOM, "%g%%", (double)value / parts_in_percent);
		break;
	case NOPAL_SWITCH:
		show_choice("off|on", value, text);
		break;
	case NOPAL_WORD:
		show_choice(parameter->choices, value, text);
		break;
	case NOPAL_FILE:
		show_choice("none|given", value, text);
		break;
	case NOPAL_ADDRESS:
		memcpy(&address, (const char *)part->parameters + parameter->offset,
		       sizeof(address));
		nopal_address_format(&address, text);
		break;
	case NOPAL_COUNT:
		snprintf(text, SHOW_VALUE_ROOM, "%" PRId64, value);
		break;
	}
	return text;
}

/* ----------------------------------------------------------------------- tables */

/* The table's entry number `index`; false: it has fewer. */
static bool show_entry(const struct nopal_microprotocol *one, enum show_table table, size_t index,
		       struct show_entry *ret_entry)
{
	const struct nopal_attribute *attribute;
	const struct nopal_shared *shared;

	*ret_entry = (struct show_entry){ 0 };
	if (table == SHOW_ROLES && one->provides) {
		ret_entry->name = one->provides[index].name;
		ret_entry->exclusive = one->provides[index].exclusive;
	} else if (table == SHOW_ATTRIBUTES && one->attributes) {
		attribute = &one->attributes[index];
		*ret_entry =
			(struct show_entry){ attribute->name, attribute->doc, attribute->access,
					     .wire = attribute->wire_bytes > 0 };
	} else if (table == SHOW_SHARED && one->shared) {
		shared = &one->shared[index];
		*ret_entry = (struct show_entry){ shared->name, shared->doc, shared->access };
	}
	return ret_entry->name != NULL;
}

bool show_find(const struct nopal_microprotocol *one, enum show_table table, const char *name,
	       struct show_entry *ret_entry)
{
	for (size_t i = 0; show_entry(one, table, i, ret_entry); i++)
		if (strcmp(ret_entry->name, name) == 0)
			return true;
	return false;
}

const struct nopal_part *show_provider(const struct nopal_plan *plan, const char *role)
{
	struct show_entry entry;

	for (size_t i = 0; i < nopal_plan_part_count(plan); i++)
		if (show_find(nopal_plan_part(plan, i)->microprotocol, SHOW_ROLES, role, &entry))
			return nopal_plan_part(plan, i);
	return NULL;
}

static int show_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **show_names(const struct nopal_plan *plan, enum show_table table)
{
	size_t many = plan ? nopal_plan_part_count(plan) : nopal_registry_count();
	const char **names = NULL;
	size_t count = 0, kept = 0;
	struct show_entry entry;

	for (size_t i = 0; i < many; i++) {
		const struct nopal_microprotocol *one =
			plan ? nopal_plan_part(plan, i)->microprotocol : nopal_registry_at(i);

		for (size_t j = 0; show_entry(one, table, j, &entry); j++) {
			names = tool_need(reallocarray(names, count + 1, sizeof(*names)));
			names[count++] = entry.name;
		}
	}
	names = tool_need(reallocarray(names, count + 1, sizeof(*names)));
	qsort(names, count, sizeof(*names), show_by_name);
	for (size_t i = 0; i < count; i++) {
		if (!kept || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	}
	names[kept] = NULL;
	return names;
}

/* ---------------------------------------------------------------------- configs */

char **show_configs(void)
{
	const char *named = getenv("NOPAL_CONFIGS");
	char *folders = NULL, *rest, *folder;
	char **names = tool_need(calloc(1, sizeof(*names)));
	size_t count = 0, known;
	struct dirent *entry;

	if (asprintf(&folders, "%s:%s:./configs", named ? named : "",
		     nopal_installed(NOPAL_INSTALLED_CONFIGS)) < 0)
		tool_need(NULL);
	rest = folders;
	while ((folder = strsep(&rest, ":")) != NULL) {
		DIR *directory = opendir(folder);

		while (directory && (entry = readdir(directory)) != NULL) {
			char *dot = strrchr(entry->d_name, '.');

			if (!dot || strcmp(dot, ".conf") != 0)
				continue;
			*dot = '\0';
			for (known = 0; known < count; known++)
				if (strcmp(names[known], entry->d_name) == 0)
					break;
			if (known < count)
				continue;
			names = tool_need(reallocarray(names, count + 2, sizeof(*names)));
			names[count++] = tool_need(strdup(entry->d_name));
		}
		if (directory)
			closedir(directory);
	}
	names[count] = NULL;
	qsort(names, count, sizeof(*names), show_by_name);
	free(folders);
	return names;
}

/* ------------------------------------------------------------------------- JSON */

json_t *show_object(const char *schema)
{
	return tool_need(json_pack("{s:s, s:i}", "schema", schema, "version", SHOW_SCHEMA_VERSION));
}

json_t *show_problems(const struct nopal_problems *problems)
{
	json_t *array = tool_need(json_array());

	for (size_t i = 0; i < problems->count; i++) {
		const struct nopal_problem_entry *entry = &problems->entries[i];

		json_array_append_new(array, json_pack("{s:s?, s:i, s:s, s:s, s:s?}", "file",
						       entry->file, "line", entry->line, "severity",
						       entry->warning ? "warning" : "error",
						       "cause", entry->cause, "fix", entry->fix));
	}
	return array;
}

void show_json(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
}
