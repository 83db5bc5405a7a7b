/* SPDX-License-Identifier: MIT */
/*
 * composing.h -- the parts of composing: each checks one aspect of a layer and adds what it finds;
 * none stops the others.
 */
#ifndef NOPAL_COMPOSING_H
#define NOPAL_COMPOSING_H

#include "compose/compose.h"
#include "base/text.h"

/* ----------------------------------------------------------- parameters.c */

/* With memory for its parameters; NULL: the arena failed. */
struct nopal_member *nopal__member_add(struct nopal_composed_layer *layer,
				       const struct nopal_microprotocol *one,
				       struct nopal_place place);
/* Defaults, then the keys of `section` (NULL: none). */
void nopal__parameters_read(struct nopal_arena *arena, struct nopal_member *member,
			    const struct nopal_config_section *section,
			    struct nopal_problems *problems);
/* The microprotocol's own cross-checks. */
void nopal__parameters_validate(struct nopal_arena *arena, const struct nopal_member *member,
				const struct nopal_config_section *section,
				struct nopal_problems *problems);

/* -------------------------------------------------------- parameter_file.c */

/* The file at `path`, which is beside the one that names it unless it begins with a slash.  False:
 * it was not read, and problems say why. */
bool nopal__parameter_file_read(struct nopal_arena *arena, const char *path,
				const struct nopal_config_key *key,
				struct nopal_file_bytes *ret_file, struct nopal_problems *problems);

/* ------------------------------------------------------------ relations.c */

/* Adds members where `automatic`; reports needs that stay open. */
void nopal__relations_complete(struct nopal_composed_layer *layer, bool automatic,
			       struct nopal_problems *problems);
/* A role that both provide and one calls exclusive; NULL: none. */
const char *nopal__role_of_both(const struct nopal_microprotocol *one,
				const struct nopal_microprotocol *other);

/* Exclusions, and exclusive roles that are provided twice. */
void nopal__relations_check(const struct nopal_composed_layer *layer,
			    struct nopal_problems *problems);

/* ----------------------------------------------------------------- usage.c */

/* Attributes and shared variables: writers and readers. */
void nopal__usage_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems);
/* Holds that nobody can complete. */
void nopal__holds_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems);
/* Members that nobody has a use for: worth saying of a sound layer. */
void nopal__usage_warn(const struct nopal_composed_layer *layer, struct nopal_problems *problems);

/* ---------------------------------------------------------------- cycles.c */

void nopal__cycles_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems);

/* ----------------------------------------------------------------- order.c */

void nopal__order_check(const struct nopal_composed_layer *layer, struct nopal_problems *problems);

/* ------------------------------------------------------------- spelling.c */

/* Roles and names that a microprotocol speaks of (before, after, excludes, with, without), and that
 * nothing known has: a warning for each. */
void nopal__spelling_warn(struct nopal_arena *arena, const struct nopal_member *member,
			  struct nopal_problems *problems);

/* ------------------------------------------------------------- canonical.c */

const char *nopal__canonical(const struct nopal_composition *composition);

/* --------------------------------------------------------- promise_check.c */

/* Of a whole composition whose layers are sound. */
void nopal__promise_check(const struct nopal_composition *composition,
			  struct nopal_problems *problems);

/* --------------------------------------------------------------- compose.c */

/* The first member that provides one of these roles; NULL: there is none. */
const struct nopal_member *nopal__layer_provider(const struct nopal_composed_layer *layer,
						 const char *roles);

#endif
