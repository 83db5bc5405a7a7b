/* SPDX-License-Identifier: MIT */
/*
 * watching.h -- what the files of the watch share.
 *
 *   watch.c        handlers and timers of a plan are called by way of the watch
 *   watch_deeds.c  what changed meanwhile, and whose deed that is
 */
#ifndef NOPAL_WATCHING_H
#define NOPAL_WATCHING_H

#include "session/endpoint_sessions.h"
#include <nopal/watch.h>

enum {
	NOPAL_WATCH_DEPTH = 64,
	NOPAL_WATCH_PARTS = 256,
	NOPAL_WATCH_SHARED = 64, /* shared variables of a layer */
};

/* Sightings of all bytes with one hash. */
struct nopal_sighting {
	uint32_t came; /* arrived, or rose as a message */
	uint32_t gone; /* stopped or discarded */
	uint16_t part; /* who did that first */
	bool once;     /* lost only where it never came; else where it was gone
			* as often as it came */
};

/* Slots of shared variables that a part writes, and of attributes that it must not:
 * those of its layer that others write.  A bit each. */
struct nopal_rights {
	uint64_t shared, forbidden;
};

/* A handler or timer that runs: what its subject and its session were like when it began, or when
 * it last got control back. */
struct nopal_watched_run {
	struct nopal_composite *composite;
	const struct nopal_part *part;
	const struct nopal_rights *rights;
	enum nopal_event event;	       /* NOPAL_NO_EVENT: a timer */
	struct nopal_segment *segment; /* its subject; or */
	struct nopal_message *message; /* NULL both: something else */
	uint64_t body;		       /* hash of the subject's bytes */
	const uint8_t *bytes;	       /* where the first of them is */
	uint32_t waiting[NOPAL_BARRIERS];
	uint64_t attribute[NOPAL_SLOT_ROOM];
	int64_t shared[NOPAL_WATCH_SHARED];
	uint64_t state; /* hash of what a timer of it may change */
	const struct nopal_memory *memory;
	uint32_t queued, queue_room;
	bool ended;
	bool settled;  /* the message was, when it began */
	uint64_t acts; /* of the watch, when it began */
};

struct nopal_watch {
	struct nopal_trace_listener listener; /* first */
	struct nopal_plan *plan;	      /* one reference */
	bool both_ends;
	bool received_raised; /* a raise of SEGMENT_RECEIVED was not looked at */
	bool rose;	      /* the same of MSG_FROM_NET */
	uint64_t acts;	      /* whatever is recorded */
	uint64_t count[NOPAL_WATCH_PARTS][NOPAL_DEED_COUNT];
	struct nopal_rights rights[NOPAL_WATCH_PARTS];
	uint64_t idle[NOPAL_WATCH_PARTS], expiries[NOPAL_WATCH_PARTS];
	/* What came, and what was lost, by hash. */
	struct nopal_map sightings;
	struct nopal_watched_run run[NOPAL_WATCH_DEPTH];
	uint32_t depth;
};

/* watch.c */
void nopal__watched_free(struct watched_tables *tables);

/* The run that raises an event at this depth of its session; NULL: no run does, but the runtime:
 * the event was queued before, or its segment goes from layer to layer. */
static inline const struct nopal_watched_run *nopal__watch_raiser(const struct nopal_watch *watch,
								  uint64_t depth)
{
	const struct nopal_watched_run *run = watch->depth ? &watch->run[watch->depth - 1] : NULL;

	if (!run || depth)
		return run;
	return run->event == NOPAL_NO_EVENT && !run->composite->draining_queue &&
			       watch->plan->layer_count == 1
		       ? run
		       : NULL;
}

/* watch_deeds.c */
/* Records the state of the run's subject and session as it is now. */
void nopal__watch_look(struct nopal_watched_run *run);
/* Compares with the recorded state, and counts each change as a deed of the part that made it. */
void nopal__watch_judge(struct nopal_watch *watch, const struct nopal_watched_run *run);
/* The handler begins, and has ended. */
void nopal__watch_begin(struct nopal_watch *watch, const struct nopal_watched_run *run);
void nopal__watch_ended(struct nopal_watch *watch, const struct nopal_watched_run *run,
			bool stopped);
/* A raise, whoever's; `by` NULL: nobody runs. */
void nopal__watch_raise(struct nopal_watch *watch, const struct nopal_watched_run *by,
			enum nopal_event event);
/* Adds to the counts all bytes that came, were dropped, and never came again. */
void nopal__watch_lost(const struct nopal_watch *watch, unsigned part, uint64_t *count);

#endif
