/* SPDX-License-Identifier: MIT */
/*
 * config.h -- a config as text becomes a neutral tree: what stands where.
 *
 * The tree knows sections, keys and places; it judges no value.  `extends` is resolved, `without`
 * and the `--set` overrides are applied, and plugins are loaded.  compose.h makes a composition of
 * it.
 *
 *   text --scan.c--> statements: names, values, lines
 *        --config.c--> tree (base first, then what the config adds)
 */
#ifndef NOPAL_CONFIG_H
#define NOPAL_CONFIG_H

#include "base/arena.h"
#include "base/problems.h"
#include <nopal/nopal.h>

enum nopal_multiplicity {
	NOPAL_ONE,
	NOPAL_PER_STREAM,
	NOPAL_PER_DESTINATION,
	NOPAL_SHARED_LAYER,
};
/* "one", "per_stream", ... by enum nopal_multiplicity; NULL-ended. */
extern const char *const nopal__multiplicity_words[];

struct nopal_config_key {
	const char *name, *value;
	struct nopal_place place;
};

struct nopal_config_section {
	const char *name; /* of a microprotocol */
	struct nopal_place place;
	struct nopal_config_key *keys;
	size_t key_count;
};

struct nopal_config_layer {
	const char *name; /* "session" where the config names no layer */
	enum nopal_multiplicity multiplicity;
	struct nopal_place place;
	struct nopal_config_section *sections; /* in the order of writing */
	size_t section_count;
};

struct nopal_config {
	struct nopal_arena arena; /* of all here, and of what is made of it */
	const char *name;	  /* of the file, without folder and ".conf" */
	const char *description;
	struct nopal_place place;
	bool requires_auto;	      /* add the default provider of a missing need */
	struct nopal_budget budget;   /* 0: the default */
	uint64_t message_limit_bytes; /* 0: the default */
	struct nopal_config_layer *layers;
	size_t layer_count;
	size_t file_count;    /* that were read */
	size_t errors_before; /* in the problems, before it was read */
};

/* By path or by name; see nopal_plan_load().  NULL: problems say why.  A config is given even with
 * problems where it makes sense to look for more. */
struct nopal_config *nopal__config_load(const char *name_or_path, const char *const *sets,
					struct nopal_problems *problems);
struct nopal_config *nopal__config_parse(const char *text, const char *file,
					 const char *const *sets, struct nopal_problems *problems);
void nopal__config_free(struct nopal_config *config);

#endif
