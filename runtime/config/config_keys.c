/* SPDX-License-Identifier: MIT */
/*
 * config_keys.c -- the keys of a config that belong to no microprotocol.
 *
 *   description = "TEXT"	    what people read first
 *   extends = "NAME"		    begin with that config's sections
 *   without = {"fec"}		    then take these out
 *   requires = strict|auto	    refuse a missing need, or add its provider
 *   plugin = {"name"}		    microprotocols in shared objects
 *   budget_bytes, budget_objects, send_buffer, message_limit: of a session
 *
 * and of a layer: multiplicity, without.
 */
#include <string.h>

#include "base/units.h"
#include "config/config_tree.h"

const char *const nopal__multiplicity_words[] = { "one", "per_stream", "per_destination", "shared",
						  NULL };
static const char keys_multiplicity[] = "one|per_stream|per_destination|shared";
static const char keys_requires[] = "strict|auto"; /* index is the value */

const char *nopal__one_value(struct nopal__reader *reader, const char *name,
			     const struct nopal__values *values, struct nopal_place place)
{
	if (values->count == 1)
		return values->words[0];
	nopal_problems_add(reader->problems, place.file, place.line,
			   "write one word, without braces",
			   "`%s` takes one value, not a list of %zu", name, values->count);
	return NULL;
}

/* ----------------------------------------------------------------- quantities */

struct keys_limit {
	enum nopal_unit unit;
	const char *choices, *min, *max;
};

/* False: a problem was added. */
static bool keys_quantity(struct nopal__reader *reader, const char *name,
			  const struct nopal__values *values, struct nopal_place place,
			  struct keys_limit limit, int64_t *ret_value)
{
	const char *text = nopal__one_value(reader, name, values, place);
	struct nopal_quantity quantity = { 0 };
	struct nopal_problems found;
	bool good;

	if (!text)
		return false;
	nopal_problems_init(&found);
	good = nopal__quantity_read(text, limit.unit, limit.choices, name, &quantity, &found) &&
	       !nopal__quantity_outside(quantity, limit.unit, limit.min, limit.max, name, &found);
	if (good && quantity.in_segments) {
		nopal_problems_add(&found, NULL, 0, "write it in bytes",
				   "%s = %s: this is not about segments", name, text);
		good = false;
	}
	nopal__problems_move(reader->problems, &found, place);
	if (good)
		*ret_value = quantity.value;
	return good;
}

/* -------------------------------------------------------------------- the keys */

typedef void keys_handler(struct nopal__reader *reader, const char *name,
			  const struct nopal__values *values, struct nopal_place place);

static void keys_earlier(struct nopal__reader *reader, const char *name,
			 const struct nopal__values *values, struct nopal_place place)
{
	(void)reader, (void)name, (void)values, (void)place;
}

static void keys_description(struct nopal__reader *reader, const char *name,
			     const struct nopal__values *values, struct nopal_place place)
{
	const char *text = nopal__one_value(reader, name, values, place);

	if (text)
		reader->config->description = text;
}

static void keys_requires_on(struct nopal__reader *reader, const char *name,
			     const struct nopal__values *values, struct nopal_place place)
{
	struct keys_limit limit = { NOPAL_WORD, keys_requires, NULL, NULL };
	int64_t value;

	if (keys_quantity(reader, name, values, place, limit, &value))
		reader->config->requires_auto = value != 0;
}

static void keys_budget_bytes(struct nopal__reader *reader, const char *name,
			      const struct nopal__values *values, struct nopal_place place)
{
	struct keys_limit limit = { NOPAL_SIZE, NULL, "64KiB", "1024GiB" };
	int64_t value;

	if (keys_quantity(reader, name, values, place, limit, &value))
		reader->config->budget.bytes = (uint64_t)value;
}

static void keys_budget_objects(struct nopal__reader *reader, const char *name,
				const struct nopal__values *values, struct nopal_place place)
{
	struct keys_limit limit = { NOPAL_COUNT, NULL, "16", "1000000000" };
	int64_t value;

	if (keys_quantity(reader, name, values, place, limit, &value))
		reader->config->budget.objects = (uint32_t)value;
}

static void keys_send_buffer(struct nopal__reader *reader, const char *name,
			     const struct nopal__values *values, struct nopal_place place)
{
	struct keys_limit limit = { NOPAL_SIZE, NULL, "1KiB", "1024GiB" };
	int64_t value;

	if (keys_quantity(reader, name, values, place, limit, &value))
		reader->config->budget.send_bytes = (uint64_t)value;
}

static void keys_message_limit(struct nopal__reader *reader, const char *name,
			       const struct nopal__values *values, struct nopal_place place)
{
	struct keys_limit limit = { NOPAL_SIZE, NULL, "1B", "1024GiB" };
	int64_t value;

	if (keys_quantity(reader, name, values, place, limit, &value))
		reader->config->message_limit_bytes = (uint64_t)value;
}

/* ------------------------------------------------------------------- without */

static void keys_say_not_there(struct nopal__reader *reader, const struct nopal_config_layer *layer,
			       const char *name, struct nopal_place place)
{
	const char **names = nopal__zeroed(reader->arena, layer->section_count + 1, sizeof(*names));

	if (!names)
		return;
	for (size_t i = 0; i < layer->section_count; i++)
		names[i] = layer->sections[i].name;
	nopal_problems_add(reader->problems, place.file, place.line, "take it out of the list",
			   "without names `%s`, which is not there to be removed", name);
	nopal__problems_suggest(reader->problems, name, names, NULL);
}

static void keys_without_in(struct nopal__reader *reader, struct nopal_config_layer *layer,
			    const struct nopal__values *values, struct nopal_place place)
{
	for (size_t i = 0; i < values->count; i++) {
		struct nopal_config_section *section =
			nopal__config_section(layer, values->words[i]);

		if (section)
			nopal__config_remove(layer, section);
		else
			keys_say_not_there(reader, layer, values->words[i], place);
	}
}

static void keys_without(struct nopal__reader *reader, const char *name,
			 const struct nopal__values *values, struct nopal_place place)
{
	struct nopal_config *config = reader->config;

	(void)name;
	if (config->layer_count == 1)
		keys_without_in(reader, &config->layers[0], values, place);
	else
		nopal_problems_add(reader->problems, place.file, place.line,
				   config->layer_count ? "write it in the layer it is about"
						       : "remove it, or write `extends` too",
				   "`without` has %s to take sections out of",
				   config->layer_count ? "several layers" : "no base config");
}

/* -------------------------------------------------------------------- tables */

struct keys_entry {
	const char *name;
	keys_handler *handle;
};

static const struct keys_entry keys_top[] = {
	{ "description", keys_description },
	{ "extends", keys_earlier },
	{ "plugin", keys_earlier },
	{ "without", keys_without },
	{ "requires", keys_requires_on },
	{ "budget_bytes", keys_budget_bytes },
	{ "budget_objects", keys_budget_objects },
	{ "send_buffer", keys_send_buffer },
	{ "message_limit", keys_message_limit },
};
enum { KEYS_TOP = sizeof(keys_top) / sizeof(*keys_top) };

static const char *const keys_layer[] = { "multiplicity", "without", NULL };

static void keys_say_unknown(struct nopal__reader *reader, const char *name,
			     const char *const *names, struct nopal_place place)
{
	nopal_problems_add(reader->problems, place.file, place.line, NULL,
			   "there is no key `%s` here", name);
	if (nopal_registry_find(name))
		nopal__problems_fix(reader->problems, "`%s` is a microprotocol: write %s {}", name,
				    name);
	else
		nopal__problems_suggest(reader->problems, name, names, "keys here are ");
}

bool nopal__config_top_key(struct nopal__reader *reader, const char *name,
			   const struct nopal__values *values, struct nopal_place place)
{
	const char *names[KEYS_TOP + 1] = { 0 };

	for (size_t i = 0; i < KEYS_TOP; i++) {
		names[i] = keys_top[i].name;
		if (strcmp(name, names[i]) == 0) {
			keys_top[i].handle(reader, name, values, place);
			return true;
		}
	}
	keys_say_unknown(reader, name, names, place);
	return false;
}

bool nopal__config_layer_key(struct nopal__reader *reader, struct nopal_config_layer *layer,
			     const char *name, const struct nopal__values *values,
			     struct nopal_place place)
{
	struct keys_limit limit = { NOPAL_WORD, keys_multiplicity, NULL, NULL };
	int64_t value;

	if (strcmp(name, "without") == 0) {
		keys_without_in(reader, layer, values, place);
		return true;
	}
	if (strcmp(name, "multiplicity") != 0) {
		keys_say_unknown(reader, name, keys_layer, place);
		return false;
	}
	if (keys_quantity(reader, name, values, place, limit, &value))
		layer->multiplicity = (enum nopal_multiplicity)value;
	return true;
}
