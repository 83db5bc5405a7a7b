/* SPDX-License-Identifier: MIT */
/*
 * fec.h -- the state of forward_error_correction, and its two halves, fec_sender.c and
 * fec_receiver.c.
 */
#ifndef NOPAL_FEC_H
#define NOPAL_FEC_H

#include <nopal/microprotocol.h>

#include "block.h"
#include "symbol.h"

enum {
	FEC_SYMBOL_BYTES = 2, /* of a symbol's length, on the wire */
	FEC_HEAD_BYTES = 4,   /* of a parity body */
	FEC_BLOCK_BYTES = 2,  /* of a block number on the wire */
	FEC_FIRST_BLOCK = 1,
};

struct forward_error_correction_parameters {
	int64_t n, k, code, flush_ns, blocks;
};

/* attributes */
enum { FEC_BLOCK, FEC_INDEX, FEC_CUMULATIVE_ACK, FEC_REPAIR_GROUP, FEC_DESTINATION };
enum { FEC_IN_NO_BLOCK = 255 }; /* an index that no segment of a block has */
/* shared variables */
enum {
	FEC_PLAYOUT_DELAY,
	FEC_BLOCK_SEGMENTS,
	FEC_PARITY_SEGMENTS,
	FEC_RESENDS_WAIT,
	FEC_GROUPS_SETTLED,
};
enum { FEC_PARITY }; /* kinds */
enum { FEC_FLUSH };  /* timers */

struct forward_error_correction {
	uint32_t room; /* bytes of a symbol, at most */
	struct nopal__erasure erasure;

	/* the block that transmissions join */
	uint64_t number;
	uint32_t members;	      /* that it has */
	uint32_t parities;	      /* that will be made of it */
	struct nopal_handle *member;  /* k places; while there are any */
	struct nopal__block outgoing; /* the members, packed */
	struct nopal_queue unsettled; /* parity that may still arrive */

	/* blocks that arrive */
	uint64_t newest;
	uint32_t strays;	     /* arrivals in a row that were far from it */
	struct nopal__block *blocks; /* as many as `blocks` says; on first use */
	uint8_t *rebuilt;	     /* n - k symbols; on first use */
};

/* The tables of the code are there; false: over budget. */
bool nopal__fec_has_code(struct nopal_at at);
/* An empty block; its memory stays with it.  NULL: over budget. */
struct nopal__block *nopal__fec_begin(struct nopal_at at, struct nopal__block *block,
				      uint64_t number);
/* Its memory does not stay. */
void nopal__fec_forget(struct nopal_session *session, struct nopal__block *block);
/* Puts a segment into the next place of a block; returns its bytes there, or 0. The block does not
 * count it yet. */
static inline uint32_t nopal__fec_pack(struct nopal_at at, struct nopal_segment *segment,
				       const struct nopal__block *block)
{
	return nopal__symbol_pack(at, segment, FEC_CUMULATIVE_ACK,
				  nopal__block_symbol(block, block->arrived), block->room);
}

/* A segment joins the block, and begins one where there is none; false: over budget. */
bool nopal__fec_join(struct nopal_at at, struct nopal_segment *segment);
/* Makes the parity of the members and lets them go; parity leaves by `leave`. */
void nopal__fec_close_block(struct nopal_at at, void (*leave)(struct nopal_session *session,
							      struct nopal_segment *segment));

/* Tells the resends that wait of which blocks all parity has arrived or never will. */
void nopal__fec_settle(struct nopal_at at);
/* Gives back the memory that the next block allocates again. */
void nopal__fec_sender_idle(struct nopal_at at);

/* The block of an arriving segment; NULL when it is too old, out of reach, has no use for more, or
 * memory is short. */
struct nopal__block *nopal__fec_find(struct nopal_at at, uint64_t number);
/* The symbol in the next place of the block, of `bytes` bytes, has arrived: this may rebuild
 * others. */
void nopal__fec_arrived(struct nopal_at at, struct nopal__block *block, uint32_t index,
			uint32_t bytes);
/* Gives back the memory that the next arrival allocates again. */
void nopal__fec_receiver_idle(struct nopal_at at);

#endif
