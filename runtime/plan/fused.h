/* SPDX-License-Identifier: MIT */
/*
 * fused.h -- a fused unit: one plan with its handlers, masks, slots and headers compiled into one
 * translation unit, as a shared object.
 *
 * The unit is the packet path of the runtime and the sources of the plan's microprotocols once more
 * (fuse.c writes what differs), so that handlers are called by name, inlined, and what is fixed in
 * a plan is a constant.  Whatever is rare stays with the library; both work on the same sessions.
 * A session enters its unit where the library raises an event of it, or has a datagram for it, and
 * leaves it for good when it binds a handler at run time.
 */
#ifndef NOPAL_FUSED_H
#define NOPAL_FUSED_H

#include "plan/plan.h"

struct nopal_composite;

/* The one symbol of a fused unit is a `struct nopal_fused` of this name. */
#define NOPAL_FUSED_SYMBOL nopal_fused_unit
#define NOPAL_FUSED_SUFFIX ".fused.so"
/* The library and the plan that a unit was made for are also the text of this section, "STAMP
 * SHAPE", which is read from the file: before a unit is taken nothing of it runs. */
#define NOPAL_UNIT_SECTION nopal_unit
#define NOPAL_UNIT_MARK	   "%s %016llx"
/* The name that a macro stands for, as a string. */
#define NOPAL_TEXT_OF(name)   #name
#define NOPAL_SYMBOL_OF(name) NOPAL_TEXT_OF(name)
enum { NOPAL_UNIT_MARK_ROOM = 128 };

struct nopal_fused {
	const char *stamp; /* of the library that it was made for and by */
	uint64_t shape;	   /* of the plan: nopal__plan_shape() */
#define EVENT(name, type, doc) void (*name)(struct nopal_session * session, type * subject);
#include <nopal/events.def>
#undef EVENT
	void (*receive)(struct nopal_composite *composite, uint8_t kind,
			struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length);
};

/* The library's own raises: where a unit's session goes that left its unit. */
extern const struct nopal_fused nopal__interpreter;

/* Structs that the library shares with its units; ended by NULL. */
extern const struct nopal_shared_type {
	const char *name;
	size_t bytes;
} nopal__shared_types[];

/* Says of which library this is: units of another are refused. */
extern const char nopal__stamp[];

/* A hash over all that a fused unit of the plan has compiled in. */
uint64_t nopal__plan_shape(const struct nopal_plan *plan, struct nopal_arena *arena);
/* Looks for the plan's unit, and says in `plan` what came of it.  No code of the unit is loaded. */
void nopal__fused_find(struct nopal_plan *plan);
/* Loads the unit that was found, once: before sessions of the plan are made. */
void nopal__fused_load(struct nopal_plan *plan);
/* The mark of the unit in this file.  False: it has none, or is cut off. */
bool nopal__unit_mark(const char *path, char ret_mark[NOPAL_UNIT_MARK_ROOM]);
/* The plan's unit among the user's own, in the plan's arena.  NULL: there is none. */
const char *nopal__unit_in_cache(const struct nopal_plan *plan);

/* Small functions of the packet path: in a fused unit, where a caller knows its arguments, most of
 * each goes away. */
#ifdef NOPAL_FUSED_LAYERS
#define NOPAL_HOT inline __attribute__((always_inline))
#else
#define NOPAL_HOT
#endif

/* In a fused unit the header is a constant, and the loop a straight line. */
#ifdef NOPAL_FUSED_LAYERS
#define FOR_EACH_FIELD(field, header)                                                              \
	_Pragma("GCC unroll 32") for (const struct nopal_field *field = (header)->fields;          \
				      field < (header)->fields + (header)->count; field++)
#else
#define FOR_EACH_FIELD(field, header)                                                              \
	for (const struct nopal_field *field = (header)->fields;                                   \
	     field < (header)->fields + (header)->count; field++)
#endif

#ifdef NOPAL_FUSED_LAYERS /* this is a fused unit: fuse.c writes these */
static const struct nopal_plan fused_plan;
static const struct nopal_layer fused_layer[NOPAL_FUSED_LAYERS];
#endif

#endif
