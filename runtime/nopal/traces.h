/* SPDX-License-Identifier: MIT */
/*
 * traces.h -- what happened in a world, for a file or a hash, and how such a file is read.  Part of
 * nopal.h, which includes it.
 */
#include "nopal.h" /* which includes this page in its place */

#ifndef NOPAL_TRACES_H
#define NOPAL_TRACES_H

#ifdef __cplusplus
extern "C" {
#endif

/* A trace of all sessions of a world.  Hash and file may be used together. */
enum nopal_trace_detail {
	NOPAL_TRACE_OFF,
	NOPAL_TRACE_PACKETS, /* transmissions, arrivals, deliveries, session life */
	NOPAL_TRACE_EVENTS,  /* and every raise, hold, release and timer */
};
/* Starts a trace into `path` (NULL: hash only).  Negative: errno value. */
int nopal_trace_start(struct nopal_world *world, const char *path, enum nopal_trace_detail detail);
/* The same into an open file, for who may not open any.  0: nopal_trace_stop() closes it; negative:
 * it stays the caller's. */
int nopal_trace_start_fd(struct nopal_world *world, int file, enum nopal_trace_detail detail);
/* Ends it and flushes; the first write error, or 0. */
int nopal_trace_stop(struct nopal_world *world);
uint64_t nopal_trace_hash(const struct nopal_world *world);

/* Reading one. */
enum nopal_trace_what {
	NOPAL_TRACED_SESSION = 1, /* a: local id, b: role (1 opener), number: plan */
	NOPAL_TRACED_RAISE,	  /* number: event, a: subject, b: detail */
	NOPAL_TRACED_TRANSMIT,	  /* number: kind, a: subject, b: packet number */
	NOPAL_TRACED_ARRIVE,	  /* number: kind, a: subject, b: packet number */
	NOPAL_TRACED_HOLD,	  /* number: barrier, a: subject, b: bits waiting */
	NOPAL_TRACED_RELEASE,	  /* number: barrier, a: subject, b: bits left, part: who */
	NOPAL_TRACED_FREE,	  /* a: subject */
	NOPAL_TRACED_DELIVER,	  /* a: message, b: bytes */
	NOPAL_TRACED_TIMER,	  /* number: index, part: whose */
	NOPAL_TRACED_NOTE,	  /* number: enum nopal_trace_note, a, b */
};
enum nopal_trace_note {
	NOPAL_NOTE_STALE = 1,	 /* stale handle */
	NOPAL_NOTE_MISUSE,	 /* bit released that was not held */
	NOPAL_NOTE_REFUSED_SEND, /* send asked for after SEGMENT_DONE */
	NOPAL_NOTE_LONG_HOLD,	 /* watchdog; b: bits waiting */
	NOPAL_NOTE_DROPPED,	 /* arriving datagram dropped; b: reason */
};
struct nopal_trace_record { /* as in the file, little endian */
	int64_t time_ns;
	uint32_t session; /* local id */
	uint8_t what;	  /* enum nopal_trace_what */
	uint8_t part;	  /* index in the plan; 255: the runtime */
	uint16_t number;
	uint64_t a; /* subject: segment or message number within the session */
	uint64_t b;
};
struct nopal_trace_reader;
struct nopal_trace_reader *nopal_trace_open(const char *path, struct nopal_problems *problems);
/* 1: a record; 0: the end; negative: the file is damaged, -EIO. */
int nopal_trace_next(struct nopal_trace_reader *reader, struct nopal_trace_record *ret_record);
/* Names from the dictionary in the file; NULL beyond.  `plan` is its number. */
const char *nopal_trace_event_name(const struct nopal_trace_reader *reader, unsigned event);
const char *nopal_trace_part_name(const struct nopal_trace_reader *reader, unsigned plan,
				  unsigned part);
const char *nopal_trace_kind_name(const struct nopal_trace_reader *reader, unsigned plan,
				  unsigned kind);
const char *nopal_trace_hold_name(const struct nopal_trace_reader *reader, unsigned plan,
				  unsigned barrier, unsigned bit);
const char *nopal_trace_plan_name(const struct nopal_trace_reader *reader, unsigned plan);
void nopal_trace_close(struct nopal_trace_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
