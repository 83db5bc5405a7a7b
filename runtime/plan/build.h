/* SPDX-License-Identifier: MIT */
/*
 * build.h -- what the files that build a plan share.
 */
#ifndef NOPAL_BUILD_H
#define NOPAL_BUILD_H

#include "plan/plan.h"

/* Is the kind with this wire code among `kinds` (enum nopal_kinds) of `part`? */
bool nopal__kind_wanted(const struct nopal_plan *plan, const struct nopal_part *part,
			unsigned kinds, uint8_t code);
/* Is the event's argument a segment, whose kind chooses the calls? */
bool nopal__about_segments(unsigned event);
/* Its arrays, once slots and kinds have their numbers.  -ENOMEM: the arena failed. */
struct nopal_composed_layer;
int nopal__build_layer(struct nopal_plan *plan, struct nopal_layer *layer,
		       const struct nopal_composed_layer *composed);
/* The facts of each layer that follow from the service below it. */
void nopal__build_facts(struct nopal_plan *plan);
/* A session begins as a copy of it.  -ENOMEM: the arena failed. */
int nopal__build_fresh(const struct nopal_plan *plan, struct nopal_layer *layer);
/* Attribute slots, kinds and headers.  Negative: problems were added. */
int nopal__build_wire(struct nopal_plan *plan, struct nopal_problems *problems);
/* The header of a data datagram, for people.  -ENOMEM: the arena failed. */
int nopal__build_fields(struct nopal_plan *plan);

/* Sets the plan's limit of messages; `wanted`: what the config says, or 0. */
void nopal__limit_messages(struct nopal_plan *plan, uint64_t wanted);

#endif
