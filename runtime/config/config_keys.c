/* SPDX-License-Identifier: MIT */
/*
 * config_keys.c -- the keys of a config that belong to no microprotocol.
 *
 *   description = "TEXT"	    what people read first
 *   extends = "NAME"		    begin with that config's sections
 *   without = {"fec"}		    then take these out
 *   requires = strict|auto	    refuse a missing need, or add its provider
 *   plugin = {"name"}		    microprotocols in shared objects
 *   budget_bytes, budget_objects, send_buffer, send_unsent, message_limit: of a session
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
	nopal__problem_at(reader->problems, place, "write one word, without braces",
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
	struct nopal_problems found = { 0 };
	bool good;

	if (!text)
		return false;
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

/* ------------------------------------------------------------------- without */

static void keys_without_in(struct nopal__reader *reader, struct nopal_config_layer *layer,
			    const struct nopal__values *values, struct nopal_place place)
{
	for (size_t i = 0; i < values->count; i++) {
		const char **names = NULL, *name = values->words[i];
		struct nopal_config_section *section = nopal__config_section(layer, name);
		size_t count = 0;

		if (section) {
			layer->section_count--;
			memmove(section, section + 1,
				(size_t)(layer->sections + layer->section_count - section) *
					sizeof(*section));
			continue;
		}
		for (size_t j = 0; j < layer->section_count; j++)
			nopal__add_name(reader->arena, &names, &count, layer->sections[j].name);
		nopal__add_name(reader->arena, &names, &count, NULL);
		if (reader->arena->failed)
			return;
		nopal__problem_at(reader->problems, place, "take it out of the list",
				  "without names `%s`, which is not there to be removed", name);
		nopal__problems_suggest(reader->problems, name, names, NULL);
	}
}

/* -------------------------------------------------------------------- tables */

enum keys_key {
	KEYS_EARLIER, /* read before the others */
	KEYS_DESCRIPTION,
	KEYS_WITHOUT,
	KEYS_SEND_UNSENT,
	KEYS_REQUIRES, /* from here on: quantities */
	KEYS_BUDGET_BYTES,
	KEYS_BUDGET_OBJECTS,
	KEYS_SEND_BUFFER,
	KEYS_MESSAGE_LIMIT,
};

static const struct keys_entry {
	const char *name;
	enum keys_key key;
	struct keys_limit limit;
} keys_top[] = {
	{ "description", KEYS_DESCRIPTION, { 0 } },
	{ "extends", KEYS_EARLIER, { 0 } },
	{ "plugin", KEYS_EARLIER, { 0 } },
	{ "without", KEYS_WITHOUT, { 0 } },
	{ "requires", KEYS_REQUIRES, { NOPAL_WORD, keys_requires, NULL, NULL } },
	{ "budget_bytes", KEYS_BUDGET_BYTES, { NOPAL_SIZE, NULL, "64KiB", "1024GiB" } },
	{ "budget_objects", KEYS_BUDGET_OBJECTS, { NOPAL_COUNT, NULL, "16", "1000000000" } },
	{ "send_buffer", KEYS_SEND_BUFFER, { NOPAL_SIZE, NULL, "1KiB", "1024GiB" } },
	{ "send_unsent", KEYS_SEND_UNSENT, { NOPAL_SIZE, NULL, "1B", "1024GiB" } },
	{ "message_limit", KEYS_MESSAGE_LIMIT, { NOPAL_SIZE, NULL, "1B", "1024GiB" } },
};
enum { KEYS_TOP = sizeof(keys_top) / sizeof(*keys_top) };

static const char *const keys_layer[] = { "multiplicity", "without", NULL };

static void keys_say_unknown(struct nopal__reader *reader, const char *name,
			     const char *const *names, struct nopal_place place)
{
	nopal__problem_at(reader->problems, place, NULL, "there is no key `%s` here", name);
	if (nopal_registry_find(name))
		nopal__problems_fix(reader->problems, "`%s` is a microprotocol: write %s {}", name,
				    name);
	else
		nopal__problems_suggest(reader->problems, name, names, "keys here are ");
}

/* So many bytes, or, as in `1msg`, messages. */
static void keys_unsent(struct nopal__reader *reader, const struct keys_entry *entry,
			const struct nopal__values *values, struct nopal_place place)
{
	static const struct keys_limit in_messages = { NOPAL_COUNT, NULL, "1", "1000000000" };
	struct nopal_budget *budget = &reader->config->budget;
	const char *text = nopal__one_value(reader, entry->name, values, place);
	size_t digits = text ? strspn(text, "0123456789") : 0;
	char number[24];
	const char *word = number;
	int64_t value = 0;

	if (!text || strcmp(text + digits, "msg") != 0 || digits >= sizeof(number)) {
		if (text && keys_quantity(reader, entry->name, values, place, entry->limit, &value))
			budget->unsent_bytes = (uint64_t)value;
		return;
	}
	memcpy(number, text, digits);
	number[digits] = 0;
	if (keys_quantity(reader, entry->name, &(struct nopal__values){ &word, 1 }, place,
			  in_messages, &value))
		budget->unsent_messages = (uint32_t)value;
}

static void keys_set(struct nopal__reader *reader, const struct keys_entry *entry,
		     const struct nopal__values *values, struct nopal_place place)
{
	struct nopal_config *config = reader->config;
	const char *text;
	int64_t value = 0;

	if (entry->key >= KEYS_REQUIRES &&
	    !keys_quantity(reader, entry->name, values, place, entry->limit, &value))
		return;
	switch (entry->key) {
	case KEYS_EARLIER:
		break;
	case KEYS_DESCRIPTION:
		text = nopal__one_value(reader, entry->name, values, place);
		if (text)
			config->description = text;
		break;
	case KEYS_WITHOUT:
		if (config->layer_count == 1)
			keys_without_in(reader, &config->layers[0], values, place);
		else
			nopal__problem_at(reader->problems, place,
					  config->layer_count ? "write it in the layer it is about"
							      : "remove it, or write `extends` too",
					  "`without` has %s to take sections out of",
					  config->layer_count ? "several layers"
							      : "no base config");
		break;
	case KEYS_REQUIRES:
		config->requires_auto = value != 0;
		break;
	case KEYS_BUDGET_BYTES:
		config->budget.bytes = (uint64_t)value;
		break;
	case KEYS_BUDGET_OBJECTS:
		config->budget.objects = (uint32_t)value;
		break;
	case KEYS_SEND_BUFFER:
		config->budget.send_bytes = (uint64_t)value;
		break;
	case KEYS_SEND_UNSENT:
		keys_unsent(reader, entry, values, place);
		break;
	case KEYS_MESSAGE_LIMIT:
		config->message_limit_bytes = (uint64_t)value;
		break;
	}
}

bool nopal__config_top_key(struct nopal__reader *reader, const char *name,
			   const struct nopal__values *values, struct nopal_place place)
{
	const char *names[KEYS_TOP + 1] = { 0 };

	for (size_t i = 0; i < KEYS_TOP; i++) {
		names[i] = keys_top[i].name;
		if (strcmp(name, names[i]) == 0) {
			keys_set(reader, &keys_top[i], values, place);
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
