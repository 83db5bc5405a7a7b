/* SPDX-License-Identifier: MIT */
/*
 * config.c -- a config becomes a tree of layers, sections and keys.
 *
 * One file is applied after the other to the same tree: what a config extends first, then its own
 * plugins, removals, keys and sections, then the --set overrides.  Nothing stops at a mistake: what
 * is unsound is reported and left out, so that all problems show at once.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/scan.h"
#include "registry/registry.h"

/* One file while it is applied. */
struct config_file {
	struct nopal__reader *reader;
	const char *name; /* kept by the config */
	const struct nopal_scan *scan;
};

static const char config_layer_word[] = "layer";

/* ------------------------------------------------------------------- the tree */

struct nopal_config_section *nopal__config_section(struct nopal_config_layer *layer,
						   const char *name)
{
	for (size_t i = 0; i < layer->section_count; i++) {
		if (strcmp(layer->sections[i].name, name) == 0)
			return &layer->sections[i];
	}
	return NULL;
}

void nopal__config_set_key(struct nopal_config *config, struct nopal_config_section *section,
			   const char *name, const char *value, struct nopal_place place)
{
	struct nopal_config_key *key = NULL;

	for (size_t i = 0; i < section->key_count && !key; i++)
		if (strcmp(section->keys[i].name, name) == 0)
			key = &section->keys[i];
	if (!key)
		key = nopal__one_more(&config->arena, &section->keys, &section->key_count,
				      sizeof(*key));
	if (key)
		*key = (struct nopal_config_key){ name, value, place };
}

/* NULL: the arena failed. */
static struct nopal_config_layer *config_layer_add(struct nopal_config *config, const char *name,
						   struct nopal_place place)
{
	struct nopal_config_layer *layer;

	for (size_t i = 0; i < config->layer_count; i++)
		if (strcmp(config->layers[i].name, name) == 0)
			return &config->layers[i];
	layer = nopal__one_more(&config->arena, &config->layers, &config->layer_count,
				sizeof(*layer));
	if (layer)
		*layer = (struct nopal_config_layer){ .name = name, .place = place };
	return layer;
}

void nopal__config_free(struct nopal_config *config)
{
	if (!config)
		return;
	nopal__arena_release(&config->arena);
	free(config);
}

/* ----------------------------------------------------------------- complaints */

static struct nopal_place config_place(const struct config_file *file, size_t item)
{
	return (struct nopal_place){ file->name, file->scan->items[item].line };
}

static bool config_is(const struct nopal_scan_item *item, const char *name)
{
	return strcmp(item->name, name) == 0;
}

/* An earlier statement of this name in the same section of this file. */
static const struct nopal_scan_item *config_earlier(const struct config_file *file, size_t index)
{
	const struct nopal_scan_item *items = file->scan->items;

	for (size_t i = 0; i < index; i++) {
		if (items[i].parent == items[index].parent &&
		    items[i].section == items[index].section &&
		    strcmp(items[i].name, items[index].name) == 0)
			return &items[i];
	}
	return NULL;
}

static bool config_say_twice(const struct config_file *file, size_t index)
{
	const struct nopal_scan_item *earlier = config_earlier(file, index);
	struct nopal_place place = config_place(file, index);

	if (!earlier)
		return false;
	if (earlier->section)
		nopal__problem_at(file->reader->problems, place, "put its keys into one section",
				  "a second section `%s`; the first is in line %d", earlier->name,
				  earlier->line);
	else
		nopal__problem_at(file->reader->problems, place, "keep one",
				  "`%s` is set already in line %d", earlier->name, earlier->line);
	return true;
}

/* ------------------------------------------------------------------- sections */

static void config_apply_section(const struct config_file *file, size_t index,
				 struct nopal_config_layer *layer)
{
	const struct nopal_scan *scan = file->scan;
	const struct nopal_scan_item *item = &scan->items[index];
	struct nopal__reader *reader = file->reader;
	struct nopal_place place = config_place(file, index);
	struct nopal_config_section *section;
	const char *name = item->name;

	if (item->values.count)
		nopal__problem_at(reader->problems, place, "remove the title",
				  "`%s` takes no title; only layers have one", item->name);
	if (!nopal_registry_find(name)) {
		const char *const *names = nopal__registry_names(reader->arena);

		if (!names)
			return;
		nopal__problem_at(reader->problems, place,
				  "see `nopal list microprotocols`; one in a shared "
				  "object needs plugin = {\"NAME\"}",
				  "there is no microprotocol `%s`", name);
		nopal__problems_suggest(reader->problems, name, names, NULL);
		/* As it was probably meant, so that what needs it does not complain as well. */
		name = nopal_nearest(name, names);
		if (!name)
			return;
	}
	config_say_twice(file, index);
	section = nopal__config_section(layer, name);
	if (!section) {
		section = nopal__one_more(reader->arena, &layer->sections, &layer->section_count,
					  sizeof(*section));
		if (!section)
			return;
		*section = (struct nopal_config_section){ .name = name, .place = place };
	}
	for (size_t i = index + 1; i < scan->count; i++) {
		const struct nopal_scan_item *key = &scan->items[i];
		const char *value = NULL;

		if (key->parent == (int)index && !config_say_twice(file, i))
			value = nopal__one_value(reader, key->name, &key->values,
						 config_place(file, i));
		if (value)
			nopal__config_set_key(reader->config, section, key->name, value,
					      config_place(file, i));
	}
}

static void config_apply_layer(const struct config_file *file, size_t index)
{
	const struct nopal_scan *scan = file->scan;
	struct nopal_place place = config_place(file, index);
	struct nopal_config_layer *layer;
	const char *name = NOPAL_LAYER_DEFAULT;

	if (scan->items[index].values.count)
		name = scan->items[index].values.words[0];
	else
		nopal__problem_at(file->reader->problems, place, "write layer \"NAME\" { ... }",
				  "the layer has no name");
	layer = config_layer_add(file->reader->config, name, place);
	if (!layer)
		return;
	if (layer->place.file == place.file && layer->place.line != place.line)
		nopal__problem_at(file->reader->problems, place, "give it a name of its own",
				  "a second layer `%s`; the first is in line %d", layer->name,
				  layer->place.line);
	/* `without` first: what is added again must not be removed. */
	for (size_t i = index + 1; i < scan->count; i++) {
		const struct nopal_scan_item *item = &scan->items[i];

		if (item->parent == (int)index && !item->section && !config_say_twice(file, i))
			nopal__config_layer_key(file->reader, layer, item->name, &item->values,
						config_place(file, i));
	}
	for (size_t i = index + 1; i < scan->count; i++) {
		if (scan->items[i].parent == (int)index && scan->items[i].section)
			config_apply_section(file, i, layer);
	}
}

/* ------------------------------------------------------------- top statements */

/* Is the item a key beside the sections, and this one where a name is given? */
static bool config_is_key(const struct nopal_scan_item *item, const char *name)
{
	return item->parent < 0 && !item->section && (!name || config_is(item, name));
}

static bool config_has_layers(const struct config_file *file)
{
	for (size_t i = 0; i < file->scan->count; i++) {
		if (file->scan->items[i].section &&
		    config_is(&file->scan->items[i], config_layer_word))
			return true;
	}
	return false;
}

static void config_apply_sections(const struct config_file *file)
{
	for (size_t i = 0; i < file->scan->count; i++) {
		const struct nopal_scan_item *item = &file->scan->items[i];

		if (item->parent >= 0 || !item->section)
			continue;
		if (config_is(item, config_layer_word)) {
			config_apply_layer(file, i);
		} else {
			struct nopal_config *config = file->reader->config;
			struct nopal_place place = config_place(file, i);
			struct nopal_place whole = { file->name, 0 };
			struct nopal_config_layer *layer;

			if (config_has_layers(file))
				nopal__problem_at(file->reader->problems, place,
						  "move it into a layer",
						  "`%s` stands beside the layers of this config",
						  file->scan->items[i].name);
			if (config_has_layers(file) && config->layer_count)
				layer = &config->layers[0]; /* so that it is checked somewhere */
			else
				layer = config_layer_add(config, NOPAL_LAYER_DEFAULT, whole);
			if (layer)
				config_apply_section(file, i, layer);
		}
	}
}

/* ------------------------------------------------------------------- extends */

static void config_read_file(struct nopal__reader *reader, const char *path,
			     struct nopal_place place);

static void config_extend(const struct config_file *file)
{
	struct nopal__reader *reader = file->reader;

	for (size_t i = 0; i < file->scan->count; i++) {
		const struct nopal_scan_item *item = &file->scan->items[i];
		struct nopal_place place = config_place(file, i);
		const char *name, *path;

		if (!config_is_key(item, "extends") || config_earlier(file, i))
			continue;
		name = nopal__one_value(reader, item->name, &item->values, place);
		path = name ? nopal__config_find(reader, name, place) : NULL;
		if (path) {
			config_read_file(reader, path, place);
			/* The description of the config that is extended need not hold of this
			 * one. */
			reader->config->description =
				nopal__printed(&reader->config->arena, "derived from `%s`",
					       nopal__config_name(&reader->config->arena, path));
		}
	}
}

/* --------------------------------------------------------------------- files */

/* `name` is kept. */
static void config_apply(struct nopal__reader *reader, const char *text, const char *name)
{
	struct nopal_scan scan;
	struct config_file file = {
		.reader = reader,
		.name = name,
		.scan = &scan,
	};

	nopal__scan(reader->arena, text, name, &scan, reader->problems);
	for (size_t i = 0; i < scan.count; i++) {
		const struct nopal__values *names = &scan.items[i].values;

		for (size_t j = 0; config_is_key(&scan.items[i], "plugin") && j < names->count; j++)
			nopal__plugin_load_at(reader->arena, names->words[j],
					      config_place(&file, i), reader->problems);
	}
	config_extend(&file);
	for (size_t i = 0; i < scan.count; i++) {
		const struct nopal_scan_item *item = &scan.items[i];
		bool may_repeat = config_is(item, "plugin") || config_is(item, "without");

		if (config_is_key(item, NULL) && (may_repeat || !config_say_twice(&file, i)))
			nopal__config_top_key(reader, item->name, &item->values,
					      config_place(&file, i));
	}
	config_apply_sections(&file);
	reader->config->place.file = name; /* the last is the outermost */
	reader->config->file_count++;
}

static void config_read_file(struct nopal__reader *reader, const char *path,
			     struct nopal_place place)
{
	struct nopal_text way = { .arena = reader->arena };
	char found[PATH_MAX];
	const char *real = realpath(path, found), *text = NULL;
	bool cycle = false;

	real = nopal__copy(reader->arena, real ? real : path);
	for (size_t i = 0; i < reader->depth; i++) {
		cycle = cycle || strcmp(reader->reading[i], real) == 0;
		if (cycle)
			nopal__append(&way, "%s extends ", reader->reading[i]);
	}
	if (cycle)
		nopal__problem_at(reader->problems, place, "remove one `extends`",
				  "the config extends itself: %s%s", nopal__text(&way), real);
	else if (reader->depth == NOPAL_EXTENDS_DEPTH)
		nopal__problem_at(reader->problems, place, "extend an earlier one",
				  "more than %d configs extend each other", NOPAL_EXTENDS_DEPTH);
	else
		text = nopal__config_text(reader, path, place);
	if (text) {
		reader->reading[reader->depth++] = real;
		config_apply(reader, text, path);
		reader->depth--;
	}
}

/* False: no memory. */
static bool config_begin(struct nopal__reader *reader, struct nopal_problems *problems)
{
	struct nopal_config *config = calloc(1, sizeof(*config));

	*reader = (struct nopal__reader){ .problems = problems };
	if (!config) {
		nopal__problems_no_memory(problems);
		return false;
	}
	config->errors_before = problems->errors;
	config->arena.problems = problems;
	reader->config = config;
	reader->arena = &config->arena;
	return true;
}

/* NULL: no file was read, or there was no memory. */
static struct nopal_config *config_finish(struct nopal__reader *reader, const char *const *sets,
					  const char *name)
{
	struct nopal_config *config = reader->config;

	if (config->file_count) {
		for (; sets && *sets; sets++)
			nopal__config_override(reader, *sets);
		config->name = nopal__config_name(reader->arena, name);
		if (!config->description)
			config->description = "";
	}
	if (config->file_count && !reader->arena->failed)
		return config;
	nopal__config_free(config);
	return NULL;
}

struct nopal_config *nopal__config_parse(const char *text, const char *file,
					 const char *const *sets, struct nopal_problems *problems)
{
	struct nopal__reader reader;

	if (!config_begin(&reader, problems))
		return NULL;
	config_apply(&reader, text, nopal__copy(reader.arena, file));
	return config_finish(&reader, sets, file);
}

struct nopal_config *nopal__config_load(const char *name_or_path, const char *const *sets,
					struct nopal_problems *problems)
{
	struct nopal_place nowhere = { 0 };
	struct nopal__reader reader;
	const char *path;

	if (!config_begin(&reader, problems))
		return NULL;
	path = nopal__config_find(&reader, name_or_path, nowhere);
	if (path)
		config_read_file(&reader, path, nowhere);
	return config_finish(&reader, sets, path ? path : name_or_path);
}
