/* SPDX-License-Identifier: MIT */
/*
 * config_tree.h -- what the files that read configs share: one tree that is being made, base
 * configs first.
 */
#ifndef NOPAL_CONFIG_TREE_H
#define NOPAL_CONFIG_TREE_H

#include "config/config.h"
#include "base/text.h"

enum {
	NOPAL_CONFIG_BYTES = 256 * 1024, /* of one file; ours are below 2 KiB */
	NOPAL_EXTENDS_DEPTH = 8,	 /* configs built on configs */
};

/* Of a config, and of its only layer, that names none. */
#define NOPAL_CONFIG_SUFFIX ".conf"
#define NOPAL_LAYER_DEFAULT "session"

struct nopal__reader {
	struct nopal_config *config;
	struct nopal_arena *arena; /* the config's */
	struct nopal_problems *problems;
	const char *reading[NOPAL_EXTENDS_DEPTH]; /* real paths, outermost first */
	size_t depth;
};

/* The value of a key: one word, or the words of a list. */
struct nopal__values {
	const char **words;
	size_t count;
};

/* ---------------------------------------------------------- config_file.c */

/* Path of a config by path or name; looks beside `place.file` too.  NULL: it is nowhere, and a
 * problem says where it was looked for. */
const char *nopal__config_find(struct nopal__reader *reader, const char *name_or_path,
			       struct nopal_place place);
/* Its text, or NULL with a problem. */
const char *nopal__config_text(struct nopal__reader *reader, const char *path,
			       struct nopal_place place);
/* "configs/bulk.conf" is named bulk. */
const char *nopal__config_name(struct nopal_arena *arena, const char *path);

/* ---------------------------------------------------------- config_keys.c */

/* A key beside the sections; false: there is no such key, and a problem says so.  `extends` and
 * `plugin` are dealt with before, and accepted here. */
bool nopal__config_top_key(struct nopal__reader *reader, const char *name,
			   const struct nopal__values *values, struct nopal_place place);
bool nopal__config_layer_key(struct nopal__reader *reader, struct nopal_config_layer *layer,
			     const char *name, const struct nopal__values *values,
			     struct nopal_place place);
/* The only word; NULL with a problem where there is none, or several. */
const char *nopal__one_value(struct nopal__reader *reader, const char *name,
			     const struct nopal__values *values, struct nopal_place place);

/* --------------------------------------------------------------- config.c */

struct nopal_config_section *nopal__config_section(struct nopal_config_layer *layer,
						   const char *name);
/* Sets a key of a section to strings of the config's; what an earlier file said is replaced. */
void nopal__config_set_key(struct nopal_config *config, struct nopal_config_section *section,
			   const char *name, const char *value, struct nopal_place place);

/* ----------------------------------------------------------- config_set.c */

/* "section.key=value", "layer/section.key=value" or "key=value". */
void nopal__config_override(struct nopal__reader *reader, const char *set);

#endif
