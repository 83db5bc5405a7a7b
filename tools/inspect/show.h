/* SPDX-License-Identifier: MIT */
/*
 * show.h -- descriptors and plans as words: what check, explain, graph, list and doc share.
 */
#ifndef NOPAL_SHOW_H
#define NOPAL_SHOW_H

#include <jansson.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"

/* Names of enumerators, for people. */
const char *show_access(enum nopal_access access);    /* writes, reads, ... */
const char *show_barrier(enum nopal_barrier barrier); /* send, done, ... */
const char *show_unit(enum nopal_unit unit);
const char *show_kind_class(enum nopal_kind_class class);
/* "data", "carried", "every kind", or the name of an own kind. */
const char *show_kinds(const struct nopal_microprotocol *one, unsigned kinds);

/* The first part of the plan that provides the role, or NULL. */
const struct nopal_part *show_provider(const struct nopal_plan *plan, const char *role);
/* A part's value as one would write it; `text` has room for it. */
enum { SHOW_VALUE_ROOM = 64 };
const char *show_value(const struct nopal_part *part, const struct nopal_parameter *parameter,
		       char *text);

/* Sorted names without doubles of what all microprotocols (or those of one plan, where it is given)
 * speak of.  Caller frees the array alone. */
enum show_table { SHOW_ROLES, SHOW_ATTRIBUTES, SHOW_SHARED };
const char **show_names(const struct nopal_plan *plan, enum show_table table);
/* Its entry in any of these tables. */
struct show_entry {
	const char *name;
	const char *doc;	  /* NULL: none */
	enum nopal_access access; /* of attributes and shared variables */
	bool exclusive;		  /* of a role */
	bool wire;		  /* of an attribute: it is in the header */
};
/* False: the microprotocol has none of that name. */
bool show_find(const struct nopal_microprotocol *one, enum show_table table, const char *name,
	       struct show_entry *ret_entry);

/* Configs that are found by name: sorted, NULL-ended; caller frees each and the array. */
char **show_configs(void);

/* A JSON object with "schema" and "version". */
json_t *show_object(const char *schema);
/* Problems as a JSON array. */
json_t *show_problems(const struct nopal_problems *problems);
/* Prints and releases. */
void show_json(json_t *object);

#endif
