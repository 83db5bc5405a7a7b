/* SPDX-License-Identifier: MIT */
/*
 * sliding.h -- the state of sliding_window_fec, and its symbols, sliding_symbols.c.
 */
#ifndef NOPAL_SLIDING_H
#define NOPAL_SLIDING_H

#include <nopal/microprotocol.h>

#include "equations.h"
#include "symbol.h"

enum {
	SLIDING_NUMBER_BYTES = 4, /* of a repair segment */
	SLIDING_SOURCE_BYTES = 3, /* of a source, on the wire */
	SLIDING_SYMBOL_BYTES = 2, /* of a symbol's length, on the wire */
	SLIDING_HEAD_BYTES = SLIDING_NUMBER_BYTES + 1 + SLIDING_SYMBOL_BYTES,
	SLIDING_REPAIRS = 16, /* at a time */
};

struct sliding_window_fec_parameters {
	int64_t sources, repairs, window, flush_ns;
};

/* attributes */
enum { SLIDING_SOURCE, SLIDING_CUMULATIVE_ACK, SLIDING_REPAIR_GROUP };
/* shared variables */
enum {
	SLIDING_PLAYOUT_DELAY,
	SLIDING_BLOCK_SEGMENTS,
	SLIDING_PARITY_SEGMENTS,
	SLIDING_RESENDS_WAIT,
	SLIDING_GROUPS_SETTLED,
};
enum { SLIDING_REPAIR }; /* kinds */
enum { SLIDING_FLUSH };	 /* timers */

/* Symbols by number, modulo `room` places. */
struct sliding_symbols {
	uint64_t *number; /* that is in the place; 0: none */
	uint32_t *used;	  /* its bytes */
	uint8_t *bytes;	  /* NULL: there is no memory yet */
	uint32_t room;
};

struct sliding_window_fec {
	uint32_t room; /* bytes of a symbol, at most */

	/* sources that leave */
	uint64_t newest;
	int64_t newest_ns; /* its transmission */
	uint32_t kept;	   /* of the last sources: what repairs are made of */
	uint32_t pending;  /* of these, since the last repair */
	uint32_t repairs;  /* to be made of them */
	uint32_t number;   /* of the next repair */
	struct sliding_symbols sent;
	struct nopal_queue unsettled; /* repairs that may still arrive */

	/* sources that arrive */
	uint64_t latest;
	uint32_t strays; /* arrivals in a row that were far from it */
	bool solving;
	struct sliding_symbols there;
	struct nopal__equations equations; /* about those that are not */
	uint8_t *solved;		   /* a symbol; memory of all of these */
};

/* Of a source in a repair, never 0: from their numbers alone. */
static inline uint8_t nopal__sliding_factor(uint32_t repair, uint64_t source)
{
	enum { VALUES = 255, HALF = 32 };
	uint64_t mixed =
		repair * UINT64_C(0x9e3779b97f4a7c15) + source * UINT64_C(0xd1b54a32d192ed03);

	mixed = (mixed ^ mixed >> HALF) * UINT64_C(0xaef17502108ef2d9);
	mixed ^= mixed >> HALF;
	return (uint8_t)(1 + mixed % VALUES);
}

static inline bool nopal__sliding_has(const struct sliding_symbols *symbols, uint64_t number)
{
	return symbols->bytes && symbols->number[number % symbols->room] == number;
}

/* A segment leaves for the first time. */
void nopal__sliding_join(struct nopal_at at, struct nopal_segment *segment);
/* Makes the repairs that are due; they leave by `leave`. */
void nopal__sliding_repair(struct nopal_at at, void (*leave)(struct nopal_session *session,
							     struct nopal_segment *segment));
/* Tells the resends that wait up to which source no repair is on its way. */
void nopal__sliding_settle(struct nopal_at at);
void nopal__sliding_sender_idle(struct nopal_at at);

nopal_SEGMENT_FROM_NET_handler nopal__sliding_on_data;
nopal_SEGMENT_FROM_NET_handler nopal__sliding_on_repair;
void nopal__sliding_receiver_idle(struct nopal_at at);

#endif
