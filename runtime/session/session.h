/* SPDX-License-Identifier: MIT */
/*
 * session.h -- the life of sessions: made, opened, drained, closed or broken, freed: session.c.
 */
#ifndef NOPAL_SESSION_H
#define NOPAL_SESSION_H

#include "engine/composite.h"
#include "session/endpoint_sessions.h"

/* Sets the pointers of what is awake; false: no memory, but never a second time. */
bool nopal__awake_lay_out(struct nopal_composite *composite);
void nopal__awake_forget(struct nopal_composite *composite);
/* A peer's, from the flow on where there is one. */
struct nopal_composite *nopal__session_make(struct nopal_endpoint *endpoint,
					    struct nopal_plan *plan,
					    const struct nopal_address *peer);
void nopal__session_close(struct nopal_composite *composite);
/* For a session that nobody knows of: not started, without callbacks. */
void nopal__session_unmake(struct nopal_composite *bottom);
void nopal__session_start(struct nopal_composite *bottom);	/* raises OPEN_SESSION */
void nopal__session_drained(struct nopal_composite *composite); /* an outcome was settled */
void nopal__session_free_stack(struct nopal_composite *bottom);
void nopal__session_received(struct nopal_composite *composite, struct nopal_message *message);
/* The layers from `first` to before `end`; the uppermost stands below `above`, where there is one.
 * Where `end` is not the plan's, the last one is a group. */
struct nopal_composite *nopal__stack_make(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					  uint32_t first, uint32_t end,
					  struct nopal_composite *above,
					  const struct nopal_address *peer, bool opener);
/* Makes one of ours that stands on nothing, to be started; returns its bottom. */
struct nopal_composite *nopal__stack_prepare(struct nopal_endpoint *endpoint,
					     struct nopal_plan *plan, uint32_t first, uint32_t end,
					     const struct nopal_address *peer,
					     const struct nopal_callbacks *callbacks, void *user);
/* Makes and starts it; returns its top. */
struct nopal_composite *nopal__stack_open(struct nopal_endpoint *endpoint, struct nopal_plan *plan,
					  uint32_t first, uint32_t end,
					  const struct nopal_address *peer,
					  const struct nopal_callbacks *callbacks, void *user);

/* The peer is told, unless that is a good end. */
void nopal__session_end(struct nopal_composite *composite, enum nopal_end end, const char *text);
/* The composite has closed in good order. */
void nopal__session_closed_well(struct nopal_composite *composite);
/* The peer's has ended, and needs no word. */
void nopal__session_ended_there(struct nopal_composite *composite, enum nopal_end end,
				const char *text);

enum { NOPAL_END_WORDS = 256 };
/* How a stack ends that closes.  Where that is not well, `words`, of NOPAL_END_WORDS bytes, get how
 * many messages did not arrive, and of many destinations which are lost. */
enum nopal_end nopal__closed_end(struct nopal_composite *bottom, char *words);
/* Messages of the application that have not arrived, where they had to. */
uint64_t nopal__undelivered(const struct nopal_composite *top);
/* Adds to the words of an end. */
void nopal__add_words(char *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void nopal__add_missing(char *words, uint64_t missing);

/* The junction between this layer and the one above it; NULL: they stand one on one. */
static inline const struct nopal_junction *nopal__junction(const struct nopal_plan *plan,
							   uint32_t index)
{
	if (index && index == plan->destinations)
		return &nopal__destinations;
	return index && index == plan->flow ? &nopal__streams : NULL;
}

#endif
