/* SPDX-License-Identifier: MIT */
/*
 * trace.h -- the writer of traces, for the core, and the form of the file.
 *
 * One tracer a world (world->tracer, NULL when off).  A record is 32 bytes; all of them go through
 * one rolling hash, and into the file where there is one.  The hash knows nothing of the file: it
 * is the same without one, and when the disk is full.  It covers the records of the chosen detail.
 *
 * Records of the core (E: only at NOPAL_TRACE_EVENTS).  `session` is the local id.  A *number*
 * counts the segments and messages of the session from 1 in the order of their creation: outgoing,
 * arriving and control ones in one count; it is never reused, and 0 names none.  `part` is
 * NOPAL_TRACE_RUNTIME where no other is said.
 *
 *   SESSION   once, before any other record of the session.  number: what
 *             nopal__trace_plan gave; a: local id; b: nopal__trace_role().
 *   RAISE   E before the first handler runs, where nobody handles it too.
 *             number: event; a: number of its segment or message, 0 for other
 *             events; b: depth, 0 for an event that no handler raised.
 *   TRANSMIT    a segment that leaves, right after SEND_SEGMENT; control too.
 *             number: wire kind; a: its number; b: packet number (0: has none).
 *   ARRIVE    a segment, before SEGMENT_FROM_NET: as TRANSMIT, but a is the number
 *             of the arriving segment here, 0 where it got none.
 *   HOLD    E when a barrier is armed: each of a new segment, the send barrier
 *             again after a transmission, DELIVER of an arriving message.  number:
 *             barrier; a: number; b: all bits that are held now.  Barriers
 *             without bits may be left out.
 *   RELEASE E part: whose bit; number, a: as HOLD; b: nopal__trace_left(): the
 *             bits still held, and (optional) the event whose handler did it;
 *             without it a reader takes the last RAISE of the session.
 *   FREE    E a: number of the segment or message that is gone.
 *   DELIVER   a: number of the message; b: its bytes.
 *   TIMER   E a declared timer fires, before its handler.  part: whose;
 *             number: its index.
 *   NOTE      number: enum nopal_trace_note; part: who, where known; a: number;
 *             b: bits waiting, or the reason.
 *
 * The file, little endian: 16 bytes of head, then chunks until the end:
 *
 *   head     "NOPALTRC", version (4), bytes of a record (4)
 *   chunk    type (4), bytes of content (4), content
 *   events   type 1: for each event: number (2), name, argument
 *   plan     type 2: number (4), name; then entries: what (1), and
 *              part 1: index (1), name
 *              kind 2: wire code (1), name
 *              hold 3: barrier (1), bit (1), "PART: WHY"
 *   records  type 3: struct nopal_trace_record, one after another
 *
 * A string is its length (2) and its bytes.  A file may end anywhere: what lies before the cut is
 * good.  Chunks of an unknown type are skipped.
 */
#ifndef NOPAL_TRACE_H
#define NOPAL_TRACE_H

#include <nopal/nopal.h>
#include <nopal/microprotocol.h>

enum { NOPAL_TRACE_RUNTIME = 255 }; /* part: no microprotocol */

/* Is told of every record, whatever the detail, and freed with the tracer. */
struct nopal_trace_listener {
	void (*record)(struct nopal_trace_listener *listener, enum nopal_trace_what what,
		       uint8_t part, uint16_t number, uint64_t a, uint64_t b);
	void (*free)(struct nopal_trace_listener *listener);
};

struct nopal_tracer {
	enum nopal_trace_detail detail;
	bool failed; /* nothing more goes into the file */
	int error;   /* the first write error, negative; 0: none */
	int file;    /* -1: hash only */
	uint64_t hash;
	uint8_t *buffer; /* a record chunk being filled; NULL: hash only */
	uint32_t used;	 /* its bytes, head of the chunk included */
	uint32_t plans;
	size_t plans_room;
	struct nopal_plan **plan;	       /* by number; referenced */
	struct nopal_trace_listener *listener; /* NULL: nobody listens */
};

/* b of SESSION.  `peer_id` is 0 where it is not known yet: the accepting side always knows it, and
 * so the two sides of a connection are found. */
static inline uint64_t nopal__trace_role(bool opener, uint32_t peer_id)
{
	return (uint64_t)opener | (uint64_t)peer_id << 32;
}

/* b of RELEASE.  `event` is the innermost event in progress; 0: none. */
static inline uint64_t nopal__trace_left(uint32_t bits, unsigned event)
{
	return bits | (uint64_t)event << 32;
}

/* Records what is within the tracer's detail; `tracer` may be NULL. */
void nopal__trace(struct nopal_tracer *tracer, int64_t now_ns, uint32_t session,
		  enum nopal_trace_what what, uint8_t part, uint16_t number, uint64_t a,
		  uint64_t b);
/* The plan's number in this trace; its names are written the first time.  The plan is referenced
 * until nopal_trace_stop. */
uint16_t nopal__trace_plan(struct nopal_tracer *tracer, const struct nopal_plan *plan);

/* ----------------------------------------- the form of the file, both sides */

#define NOPAL_TRACE_MAGIC "NOPALTRC"

enum {
	NOPAL_TRACE_MAGIC_BYTES = 8,
	NOPAL_TRACE_VERSION = 1,
	NOPAL_TRACE_HEAD_BYTES = 16,
	NOPAL_TRACE_CHUNK_BYTES = 8,
	NOPAL_TRACE_RECORD_BYTES = 32,
	NOPAL_TRACE_PLANS = 4096, /* plans beyond go without names */
};

enum nopal__trace_chunk {
	NOPAL_CHUNK_EVENTS = 1,
	NOPAL_CHUNK_PLAN,
	NOPAL_CHUNK_RECORDS,
};

enum nopal__trace_entry {
	NOPAL_ENTRY_PART = 1,
	NOPAL_ENTRY_KIND,
	NOPAL_ENTRY_HOLD,
};

/* Little endian numbers of `bytes` bytes, 1..8. */
static inline void nopal__trace_store(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t nopal__trace_load(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

#endif
