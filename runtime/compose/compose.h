/* SPDX-License-Identifier: MIT */
/*
 * compose.h -- a config tree becomes a checked composition.
 *
 *   nopal__config_load/parse (config.h)
 *     -> nopal__compose: parameters read, relations, holds, orders and cycles
 *        checked; every problem at once
 *     -> nopal__compose_order: the handlers of an event, in run order
 *     -> nopal__compose_resolve: sizes that were given in segments, once the
 *        header, and so the segment, is known
 *
 * Nothing here runs a handler or lays out a header: that is building (plan.c).
 */
#ifndef NOPAL_COMPOSE_H
#define NOPAL_COMPOSE_H

#include "config/config.h"
#include <nopal/microprotocol.h>

/* The bytes of the file that a parameter of unit NOPAL_FILE names; erased when the arena ends. */
struct nopal_file_bytes {
	const uint8_t *bytes; /* NULL: none */
	size_t length;
};

/* A microprotocol in a composition. */
struct nopal_member {
	const struct nopal_microprotocol *microprotocol;
	void *parameters;		/* its struct, in base units; NULL when it has none */
	bool *in_segments;		/* by parameter: a size still counted in segments */
	struct nopal_file_bytes *files; /* by parameter */
	struct nopal_place place;	/* of its section; of who needed it when added */
	const char *added_for;		/* NULL: the config names it; else the role */
};

struct nopal_composed_layer {
	struct nopal_arena *arena; /* the config's */
	const char *name;
	enum nopal_multiplicity multiplicity;
	struct nopal_place place;
	const char *stands_on;	      /* what its place gives: roles, joined by '|' */
	struct nopal_member *members; /* in the config's order, added ones last */
	size_t count;
	size_t first_part; /* members of the layers above */
};

struct nopal_composition {
	struct nopal_config *config; /* owned: its arena has all of this */
	struct nopal_composed_layer *layers;
	size_t layer_count;
	const char *canonical; /* all that peers must agree on, a line a microprotocol */
	uint64_t fingerprint;  /* nopal_hash of `canonical` */
};

/* Takes the config (frees it on failure too).  NULL when there were errors; warnings alone do not
 * refuse.  `config` may be NULL: then NULL. */
struct nopal_composition *nopal__compose(struct nopal_config *config,
					 struct nopal_problems *problems);
void nopal__composition_free(struct nopal_composition *composition);

/* Turns sizes in segments into bytes, and checks ranges once more.  Call once.  Negative: -EINVAL,
 * problems were added. */
int nopal__compose_resolve(struct nopal_composition *composition, uint32_t segment_bytes,
			   struct nopal_problems *problems);

/* ------------------------------------------------------------------- order */

struct nopal_ordered {
	uint16_t member;  /* index in layer->members */
	uint16_t binding; /* index in the microprotocol's bindings */
};

/* Handlers of `event` in run order, one order for all kinds.  Writes at most `room` entries;
 * returns how many there are. */
size_t nopal__compose_order(const struct nopal_composed_layer *layer, enum nopal_event event,
			    struct nopal_ordered *ret_order, size_t room);
/* 0: undeclared ties by name; else they are permuted by this seed (tests). */
extern uint64_t nopal__order_seed;

/* ----------------------------------------------------------------- promises */

/* The service of the layers of a composition, from the network up. */
struct nopal_promise_walk {
	const struct nopal_composition *composition;
	/* Properties of the messages, joined by '|', or NULL. */
	const char *names;
	bool any_names; /* rows act that are about any property: the worst case */
	/* (optional) Sees each row that acts, before it does. */
	void (*visit)(struct nopal_promise_walk *walk, size_t layer, size_t member,
		      const struct nopal_promise *row);
	void *context; /* of visit */
	struct nopal_service service;
	/* Of a layer above destinations: what is meant is for one of them alone; or leaves by a
	 * channel, beside the session that each of them has. */
	bool for_one, multicasts;
	bool amid_partial; /* of the present layer: a row's condition */
	struct nopal_service session;
};
/* Fills `service` with that of the layer `until`. */
void nopal__promise_walk(struct nopal_promise_walk *walk, size_t until);
/* Does all arrive that this layer stands on, whatever properties messages have?  Not above
 * destinations: a copy for one may end by itself, or be none. */
bool nopal__promise_stands_on_all(const struct nopal_composition *composition, size_t layer);
/* ----------------------------------------------------------------- helpers */

/* Value of a parameter in a parameters struct. */
int64_t nopal__parameter_get(const void *parameters, const struct nopal_parameter *parameter);
/* Does a condition on parameters hold: "name" (it is not 0), "name=value", either behind a `!` for
 * the opposite?  NULL: there is none, and it does. */
bool nopal__parameter_holds(const struct nopal_microprotocol *one, const void *parameters,
			    const char *when);

#endif
