/* SPDX-License-Identifier: MIT */
/*
 * structures.h -- what microprotocols keep things in: which numbers were seen, numbers to pointers,
 * segments that wait; and arithmetic without overflow. Part of microprotocol.h, which includes it.
 *
 * Each is zeroed or made by its init, grows in the session's memory, and gives that memory back by
 * its idle function.
 */
#ifndef NOPAL_STRUCTURES_H
#define NOPAL_STRUCTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_session;
struct nopal_part;
struct nopal_segment;
struct nopal_handle;

/* Where a handler runs: a session, and the place of its microprotocol in the composition.
 * Handlers, hooks and helpers of a microprotocol take it first and hand it on by value; they name
 * its session where a function is about the session alone (at.session), and its part never: the
 * functions that need the part take the whole. */
struct nopal_at {
	struct nopal_session *session; /* NULL in hooks of a listener: admit, opens, kind_of */
	const struct nopal_part *part;
};

/* Which numbers of a moving window were seen: a bitmap ring over [floor, end). */
struct nopal_numbers {
	uint64_t floor;	 /* every number below was seen or given up */
	uint64_t end;	 /* one past the highest seen */
	uint64_t *bits;	 /* NULL: there was no hole */
	uint32_t window; /* numbers that it can hold: a power of two >= 64 */
	uint32_t room;	 /* of the ring, which grows up to the window */
};
enum nopal_number_is { NOPAL_NUMBER_NEW, NOPAL_NUMBER_SEEN, NOPAL_NUMBER_BEYOND };

/* Negative: there is no such window. */
int nopal_numbers_init(struct nopal_numbers *numbers, uint64_t first, uint32_t window);
/* Classify without change. */
enum nopal_number_is nopal_numbers_test(const struct nopal_numbers *numbers, uint64_t number);
/* The first of [from, end) that was seen, or that was not; `end`: there is none. */
uint64_t nopal_numbers_next(const struct nopal_numbers *numbers, uint64_t from, uint64_t end,
			    bool seen);
/* Mark as seen and move the floor over what is complete.  What there is no memory for is beyond. */
enum nopal_number_is nopal_numbers_mark(struct nopal_session *session,
					struct nopal_numbers *numbers, uint64_t number);
/* Give up everything below `number`: the floor moves at least there.  Returns how many were skipped
 * that had not been seen. */
uint64_t nopal_numbers_skip(struct nopal_numbers *numbers, uint64_t number);
/* Gives its memory back where there is no hole; it goes on as it was. */
void nopal_numbers_idle(struct nopal_session *session, struct nopal_numbers *numbers);

/* Numbers to pointers, open addressing; grows in the session's memory.  Zero it before use. */
struct nopal_map {
	struct nopal_map_slot {
		uint64_t key;
		void *value;
	} * slots;
	uint32_t used, room;
};
void *nopal_map_get(const struct nopal_map *map, uint64_t key);
int nopal_map_put(struct nopal_session *session, struct nopal_map *map, uint64_t key,
		  void *value); /* value not NULL; negative: over budget */
void *nopal_map_take(struct nopal_map *map, uint64_t key); /* and forget it */
/* Gives the memory of an empty map back. */
void nopal_map_idle(struct nopal_session *session, struct nopal_map *map);

/* Room for `count` elements of `size` bytes in an array of the session's memory, whose pointer is at
 * `array` (&self->list) and NULL at first; it at least doubles where it grows.  False: over budget,
 * and the array is as it was. */
bool nopal_array_room(struct nopal_session *session, void *array, uint32_t *room, uint32_t count,
		      size_t size);

/* A first in, first out ring of segment handles, but for urgent ones, which are first among
 * themselves; grows in session memory. */
struct nopal_queue {
	struct nopal_handle *ring;
	uint32_t head, count, room;
};
int nopal_queue_push(struct nopal_session *session, struct nopal_queue *queue,
		     const struct nopal_segment *segment);
/* Behind all, though it may be urgent. */
int nopal_queue_append(struct nopal_session *session, struct nopal_queue *queue,
		       const struct nopal_segment *segment);
/* Among the others by age, behind urgent ones: before all that were made after it.  For resends:
 * the oldest is what the peer waits for. */
int nopal_queue_insert(struct nopal_session *session, struct nopal_queue *queue,
		       const struct nopal_segment *segment);
/* The first segment that still lives; drops stale handles; NULL when empty. */
struct nopal_segment *nopal_queue_first(struct nopal_session *session, struct nopal_queue *queue);
void nopal_queue_pop(struct nopal_queue *queue);
/* The one at a place, 0 is the first; NULL where it lives no longer. */
struct nopal_segment *nopal_queue_at(struct nopal_session *session, const struct nopal_queue *queue,
				     uint32_t place);
/* Moves all that are behind it: for what is rare. */
void nopal_queue_remove(struct nopal_queue *queue, uint32_t place);
/* Gives the memory of an empty queue back. */
void nopal_queue_idle(struct nopal_session *session, struct nopal_queue *queue);

/* Segments that wait at a gate which all transmissions pass.  One turn of the gate goes over them
 * in the order in which all gates grant (queue.c has that order, and the reason):
 *
 *	struct nopal_lane_turn turn = { 0 };
 *
 *	while ((segment = nopal_lanes_next(session, part, lanes, &turn)))
 *		if (it may go)
 *			nopal_lanes_take(lanes, &turn), nopal_release(...);
 *		else if (another gate holds it)
 *			nopal_lanes_pass(&turn);
 *		else
 *			break;
 */
enum nopal_lane {
	NOPAL_LANE_AGAIN,  /* resends */
	NOPAL_LANE_URGENT, /* first transmissions of urgent segments */
	NOPAL_LANE_FIRST,  /* all others */
	NOPAL_LANES,
};
struct nopal_lanes {
	struct nopal_queue lane[NOPAL_LANES];
};
struct nopal_lane_turn {
	bool passed[NOPAL_LANES]; /* its first is kept back by another gate */
	enum nopal_lane lane;	  /* of the segment whose turn it is */
};
int nopal_lanes_insert(struct nopal_session *session, struct nopal_lanes *lanes,
		       const struct nopal_segment *segment);
static inline bool nopal_lanes_wait(const struct nopal_lanes *lanes)
{
	return lanes->lane[NOPAL_LANE_AGAIN].count || lanes->lane[NOPAL_LANE_URGENT].count ||
	       lanes->lane[NOPAL_LANE_FIRST].count;
}
/* The next of the segments that the part holds at the send barrier; NULL: none.  Drops all others
 * that come to the front. */
struct nopal_segment *nopal_lanes_next(struct nopal_at at, struct nopal_lanes *lanes,
				       struct nopal_lane_turn *turn);
void nopal_lanes_take(struct nopal_lanes *lanes, const struct nopal_lane_turn *turn);
void nopal_lanes_pass(struct nopal_lane_turn *turn);
void nopal_lanes_idle(struct nopal_session *session, struct nopal_lanes *lanes);

/* Argument of FORWARD_RECEIVED: a point up to which nobody waits any longer. */
struct nopal_forward {
	uint64_t segment; /* no new segment below this number will come */
	uint64_t order;	  /* nor a message whose order_first is below this */
	uint64_t skipped; /* segments below `segment` that never came: counted
			   * by the role duplicate_filter */
};

/* a*b/c in 128 bits, rounded down; c > 0; saturates. */
uint64_t nopal_scale(uint64_t a, uint64_t b, uint64_t c);

/* Bits of a byte, times nanoseconds of a second. */
#define NOPAL_BYTE_BITS_NS UINT64_C(8000000000)
/* Bits a second, of bytes in this time; it is not 0. */
static inline uint64_t nopal_rate_of(uint64_t bytes, int64_t ns)
{
	return nopal_scale(bytes, NOPAL_BYTE_BITS_NS, (uint64_t)ns);
}
/* Bytes that a rate carries in this time. */
static inline uint64_t nopal_rate_bytes(uint64_t bps, int64_t ns)
{
	return nopal_scale(bps, (uint64_t)ns, NOPAL_BYTE_BITS_NS);
}

#ifdef __cplusplus
}
#endif

#endif
