/* SPDX-License-Identifier: MIT */
/*
 * compose_rig.h -- the words of tests that compose: a config of fakes becomes a composition, or
 * complains in the line that is at fault.
 *
 * compose_rig_add() first of all.
 */
#ifndef NOPAL_TESTS_COMPOSE_RIG_H
#define NOPAL_TESTS_COMPOSE_RIG_H

#include "compose/compose.h"
#include "support/fakes.h"

/* Lets the registry have the two above, and these. */
int compose_rig_add(const struct nopal_microprotocol *const *fakes);

struct composing {
	struct nopal_composition *composition;
	struct nopal_problems problems;
};

/* The config is one driver, one cutter, and `text` from line 2 on. */
struct composing compose(const char *text);
void done(struct composing *composing);
struct composing good(const char *text);
void complains(const struct composing *composing, int line, const char *cause, const char *fix);
void bad(const char *text, int line, const char *cause, const char *fix);
void warns(const char *text, int line, const char *cause, const char *fix);
const struct nopal_composed_layer *layer_of(const struct composing *one);
const struct nopal_member *member_of(const struct composing *composing, const char *name);

#endif
