/* SPDX-License-Identifier: MIT */
/*
 * watch.h -- the microprotocols of a plan, watched: what each of them did, so that who broke a
 * promise can be named.  Part of nopal.h, which includes it.
 *
 * Around every handler and timer of a watched plan the runtime looks at what changed. That is for
 * the interpreter alone, and dear: a plan that nobody watches runs as it did.  What is bound at run
 * time by nopal_bind() is watched; custom events are not.
 */
#include "nopal.h" /* which includes this page in its place */

#ifndef NOPAL_WATCH_H
#define NOPAL_WATCH_H

#ifdef __cplusplus
extern "C" {
#endif

/* Deeds of a microprotocol.  DEED(name, text): the text follows the microprotocol's name, and its
 * %llu is how often. */
#define NOPAL_DEEDS(DEED)                                                                          \
	/* wrong, whatever came of it */                                                           \
	DEED(BYTES, "changed bytes in place %llu times")                                           \
	DEED(ATTRIBUTE, "wrote attributes of others %llu times")                                   \
	DEED(SHARED, "wrote shared variables of others %llu times")                                \
	DEED(HOLD, "let go what others hold %llu times")                                           \
	DEED(MISUSE, "let go what it did not hold %llu times")                                     \
	DEED(RAISE, "raised events that it does not declare %llu times")                           \
	DEED(FORGED, "said %llu times that the peer has what never came there")                    \
	/* wrong where a promise was broken by it */                                               \
	DEED(LOST, "dropped %llu messages or segments that never came again")                      \
	DEED(STOPPED, "stopped %llu events on their way to others")                                \
	DEED(REPLACED, "gave %llu messages other bytes")                                           \
	DEED(EARLY, "delivered %llu messages that others held back")                               \
	DEED(CLOSED, "closed %llu sessions that others are to close")                              \
	DEED(IDLE, "did nothing in all of %llu expiries of its timers")                            \
	/* wrong where there is too much of it */                                                  \
	DEED(RAISED, "raised %llu events")                                                         \
	DEED(WOKEN, "was woken by its timers %llu times")                                          \
	DEED(SPUN, "did nothing %llu times but to be woken again at once")                         \
	DEED(NESTED, "raised %llu events deep within each other")                                  \
	DEED(RESENT, "asked for %llu resends")                                                     \
	DEED(CONTROL, "sent %llu control segments")                                                \
	DEED(MEMORY, "took %llu bytes of memory")

enum nopal_deed {
#define NOPAL_DEED_NAME(name, text) NOPAL_DEED_##name,
	NOPAL_DEEDS(NOPAL_DEED_NAME)
#undef NOPAL_DEED_NAME
		NOPAL_DEED_COUNT,
};

/* The deeds of one part of the plan, in all its sessions of a world. */
struct nopal_conduct {
	const char *layer, *microprotocol;
	uint64_t count[NOPAL_DEED_COUNT];
};

/* From now on; before the first session of the plan.  `both_ends`: both ends of each session are in
 * this world, and what came nowhere is known.  A plan is watched in one world alone, and that world
 * is traced, if only for its hash: the watch ends with nopal_trace_stop().  Negative: errno
 * value. */
int nopal_watch_start(struct nopal_world *world, struct nopal_plan *plan, bool both_ends);
/* Visits all parts in the order of the plan; nothing, where nobody watches. */
void nopal_watch_visit(struct nopal_world *world,
		       void (*visit)(const struct nopal_conduct *conduct, void *user), void *user);
/* "changed bytes in place %llu times"; NULL beyond. */
const char *nopal_deed_text(unsigned deed);

#ifdef __cplusplus
}
#endif

#endif
