/* SPDX-License-Identifier: MIT */
/*
 * inspect.h -- for tools: which microprotocols there are, what plans are made of, the units that
 * are compiled of them, and which microprotocol holds what.  Part of nopal.h, which includes it.
 */
#include "nopal.h" /* which includes this page in its place */

#ifndef NOPAL_INSPECT_H
#define NOPAL_INSPECT_H

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- registry */

/* All microprotocols, built in and loaded, ordered by name. */
size_t nopal_registry_count(void);
const struct nopal_microprotocol *nopal_registry_at(size_t index);
const struct nopal_microprotocol *nopal_registry_find(const char *name);
/* A folder that was installed with the library, in the prefix that the library lies in now; a
 * static string.  It need not exist. */
enum nopal_installed {
	NOPAL_INSTALLED_PLUGINS,   /* NAME.so; fused units in `fused` below it */
	NOPAL_INSTALLED_CONFIGS,   /* NAME.conf */
	NOPAL_INSTALLED_SOURCES,   /* what `nopal fuse` compiles */
	NOPAL_INSTALLED_TEMPLATES, /* what `nopal new` begins with */
};
const char *nopal_installed(enum nopal_installed which);
/* The name nearest to `name` in a NULL-ended list, or NULL when none is near. */
const char *nopal_nearest(const char *name, const char *const *names);

/* ------------------------------------------------------------------- plans */

/* One line a microprotocol of the difference between two canonical texts:
 * "- only there", "+ only here", "~ other value".  Caller frees; NULL: no memory. */
char *nopal_canonical_diff(const char *here, const char *there);

/* Fields, parts and handlers of a plan, for explain, graph and doc.  All strings live as long as
 * the plan. */
struct nopal_plan_field {
	const char *attribute;	   /* "kind", "session id", ... too */
	const char *microprotocol; /* NULL: the runtime's */
	uint32_t bytes;
};
size_t nopal_plan_fields(const struct nopal_plan *plan, const struct nopal_plan_field **ret_fields);
size_t nopal_plan_part_count(const struct nopal_plan *plan);
const struct nopal_part *nopal_plan_part(const struct nopal_plan *plan, size_t index);
/* The number of the layer that it stands in, from 0, the top; see nopal_plan_layer_name(). */
unsigned nopal_plan_part_layer(const struct nopal_plan *plan, size_t index);
/* Handlers of an event for data segments, in run order: parts[i] runs at i. */
size_t nopal_plan_handlers(const struct nopal_plan *plan, unsigned event,
			   const struct nopal_part **ret_parts, size_t room);
/* Name, argument type and doc of an event (enum nopal_event); NULL beyond. */
const char *nopal_event_name(unsigned event);
const char *nopal_event_doc(unsigned event);
const char *nopal_event_argument(unsigned event);

/* ------------------------------------------------------------- fused units */

/* Where every program of this user looks for the unit of this very plan, and this version: a file
 * in $XDG_CACHE_HOME/nopal/fused or ~/.cache/nopal/fused.  The folders are made; the caller
 * frees the path.  NULL: a problem was added, also where a folder is another user's, or others may
 * write there. */
char *nopal_plan_unit_file(const struct nopal_plan *plan, struct nopal_problems *problems);
/* Its sessions from now on are interpreted. */
void nopal_plan_interpret(struct nopal_plan *plan);
/* Writes the C source of the plan's unit; `nopal fuse` compiles it.  `sources`:
 * files NAME.c of those microprotocols that are plugins, NULL-ended, or NULL. Negative: problems
 * say why. */
int nopal_plan_fuse(const struct nopal_plan *plan, const char *const *sources, FILE *out,
		    struct nopal_problems *problems);

/* ----------------------------------------------------------- running sessions */

/* Describes the work of the calling thread in its world at this moment, for the report of a crash:
 * "while `gentle` handled SEGMENT_FROM_NET at 1.204500000 s (session 5e0b7d13)", a line for each
 * layer at work.  Returns the text's length, at most room - 1; 0: there is no such work.  Reads
 * memory and does nothing else, so that a handler of SIGSEGV may call it. */
size_t nopal_whereabouts(char *text, size_t room);
/* Writes holds and their holders for people: a line for each waiting segment or message.  Returns
 * the number of lines. */
size_t nopal_session_dump(const struct nopal_session *session, FILE *out);
/* The same by holder, in all layers of the session: items that one microprotocol holds at one
 * barrier. */
struct nopal_held {
	const char *layer, *microprotocol;
	const char *why; /* the reason of its hold, as it declares */
	/* enum nopal_barrier; at NOPAL_DELIVER items are messages, elsewhere they are segments;
	 * NOPAL_BARRIERS: messages of ours without segments */
	unsigned barrier;
	uint64_t items;
	uint64_t alone; /* of these, held by nobody else */
	/* Segments and messages of a session have numbers from 1, as in traces: the oldest that it
	 * holds, and of those that it holds alone (0: none). */
	uint32_t oldest, oldest_alone;
	int64_t for_ns; /* since the oldest was made, or was to leave again */
};
typedef void nopal_held_visit(const struct nopal_held *held, void *user);
/* Returns how many there are; `visit` may be NULL.  Within the callback `ended`, too: then these
 * are the holds that were never released. */
size_t nopal_session_held(const struct nopal_session *session, nopal_held_visit *visit, void *user);

/* --------------------------------------------------- quantities and hashes */

/* "25ms" and friends to base units, by enum nopal_unit; negative: a problem was added, naming
 * `what`. */
int nopal_quantity_parse(const char *text, int unit, const char *what, int64_t *ret_value,
			 struct nopal_problems *problems);
/* SipHash-2-4 with a fixed key: fingerprints and file hashes.  Stream: init, update, final. */
struct nopal_hash {
	uint64_t v[4], tail;
	uint64_t length;
};
void nopal_hash_init(struct nopal_hash *hash);
void nopal_hash_update(struct nopal_hash *hash, const void *bytes, size_t length);
uint64_t nopal_hash_final(struct nopal_hash *hash);

#ifdef __cplusplus
}
#endif

#endif
