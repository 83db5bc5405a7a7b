/* SPDX-License-Identifier: MIT */
/*
 * config_set.c -- overrides from the command line: --set section.key=value.
 *
 *   resize.mtu=9000B		 a key of the first layer that has the section
 *   member/fec.n=8		 the same in layer `member`
 *   requires=auto		 a key beside the sections
 */
#include <string.h>

#include "config/config_tree.h"

static const struct nopal_place set_place = { "--set", 0 };

/* The parts of an override; strings of the config's. */
struct set_parts {
	const char *layer, *section; /* NULL: not given */
	const char *key, *value;
};

static bool set_split(struct nopal_arena *arena, const char *set, struct set_parts *ret_parts)
{
	const char *equals = strchr(set, '=');
	struct set_parts parts = { 0 };
	const char *name = set, *mark;

	if (!equals || equals == set || !equals[1])
		return false;
	mark = memchr(name, '/', (size_t)(equals - name));
	if (mark) {
		parts.layer = nopal__copy_part(arena, name, (size_t)(mark - name));
		name = mark + 1;
	}
	mark = memchr(name, '.', (size_t)(equals - name));
	if (mark) {
		parts.section = nopal__copy_part(arena, name, (size_t)(mark - name));
		name = mark + 1;
	}
	parts.key = nopal__copy_part(arena, name, (size_t)(equals - name));
	parts.value = nopal__copy(arena, equals + 1);
	*ret_parts = parts;
	return true;
}

static void set_say_no_section(struct nopal__reader *reader, const char *set,
			       const struct set_parts *parts)
{
	const char **names = NULL;
	size_t count = 0;

	for (size_t i = 0; i < reader->config->layer_count; i++) {
		struct nopal_config_layer *layer = &reader->config->layers[i];

		for (size_t j = 0; j < layer->section_count; j++)
			nopal__add_name(reader->arena, &names, &count, layer->sections[j].name);
	}
	nopal__add_name(reader->arena, &names, &count, NULL);
	if (reader->arena->failed)
		return;
	nopal_problems_add(reader->problems, set_place.file, 0, "name a section of the config",
			   "%s: the config has no section `%s`%s%s", set, parts->section,
			   parts->layer ? " in layer " : "", parts->layer ? parts->layer : "");
	if (nopal_registry_find(parts->section))
		nopal__problems_fix(reader->problems, "add `%s {}` to the config", parts->section);
	else
		nopal__problems_suggest(reader->problems, parts->section, names, NULL);
}

void nopal__config_override(struct nopal__reader *reader, const char *set)
{
	struct set_parts parts;
	struct nopal_config_section *section = NULL;
	struct nopal_config_layer *layers = reader->config->layers;

	if (!set_split(reader->arena, set, &parts)) {
		nopal_problems_add(reader->problems, set_place.file, 0,
				   "write SECTION.KEY=VALUE, like resize.mtu=1500B",
				   "`%s` is not SECTION.KEY=VALUE", set);
		return;
	}
	for (size_t i = 0; parts.section && !section && i < reader->config->layer_count; i++)
		if (!parts.layer || strcmp(parts.layer, layers[i].name) == 0)
			section = nopal__config_section(&layers[i], parts.section);
	if (section) {
		nopal__config_set_key(reader->config, section, parts.key, parts.value, set_place);
	} else if (parts.section) {
		set_say_no_section(reader, set, &parts);
	} else {
		const char *words[] = { parts.value };
		struct nopal__values values = { .words = words, .count = 1 };

		if (strcmp(parts.key, "extends") == 0 || strcmp(parts.key, "plugin") == 0)
			nopal_problems_add(reader->problems, set_place.file, 0,
					   "write it in the config",
					   "%s: `%s` is read before any override", set, parts.key);
		else
			nopal__config_top_key(reader, parts.key, &values, set_place);
	}
}
