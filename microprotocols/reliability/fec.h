/* SPDX-License-Identifier: MIT */
/*
 * fec.h -- what the files of forward_error_correction share: its state, and its
 * two halves, fec_sender.c and fec_receiver.c.
 */
#ifndef NOPAL_FEC_H
#define NOPAL_FEC_H

#include "microprotocol.h"

#include "block.h"

enum {
	FEC_LENGTH_BYTES = 2, /* in front of a segment in its symbol */
	FEC_HEAD_BYTES = 4,   /* of a parity body */
	FEC_BLOCK_BYTES = 2,  /* of a block number on the wire */
	FEC_FIRST_BLOCK = 1,
};

struct forward_error_correction_parameters {
	int64_t n, k, code, flush_ns, blocks;
};

enum { FEC_BLOCK, FEC_INDEX, FEC_ACK_FLOOR }; /* attributes */
enum { FEC_PLAYOUT_DELAY };		      /* shared variables */
enum { FEC_PARITY };			      /* kinds */
enum { FEC_FLUSH };			      /* timers */

struct forward_error_correction {
	uint64_t number;	      /* of the block that departures join */
	uint32_t members;	      /* that it has */
	uint32_t room;		      /* bytes of a symbol, at most */
	struct nopal_handle *member;  /* k places */
	struct nopal__block outgoing; /* the members, packed */
	uint64_t newest;	      /* block that arrived */
	uint32_t strays; /* arrivals in a row that were far from it */
	struct nopal__block
		*blocks;  /* as many as `blocks` says; on first use */
	uint8_t *rebuilt; /* n - k symbols; on first use */
	struct nopal__erasure erasure;
};

/* An empty block; its memory stays with it.  NULL: over budget. */
struct nopal__block *nopal__fec_begin(struct nopal_session *session,
				      const struct nopal_part *part,
				      struct nopal__block *block,
				      uint64_t number);
/* Puts a segment into the next place of a block; returns its bytes there, or 0.
 * The block does not count it yet. */
uint32_t nopal__fec_pack(struct nopal_session *session,
			 const struct nopal_part *part,
			 struct nopal_segment *segment,
			 const struct nopal__block *block);

/* Makes the parity of the members and lets them go; parity leaves by `leave`. */
void nopal__fec_close_block(struct nopal_session *session,
			    const struct nopal_part *part,
			    void (*leave)(struct nopal_session *session,
					  struct nopal_segment *segment));

/* The block of an arriving segment; NULL when it is too old, out of reach, has
 * no use for more, or memory is short. */
struct nopal__block *nopal__fec_find(struct nopal_session *session,
				     const struct nopal_part *part,
				     uint64_t number);
/* The symbol in the next place of the block, of `bytes` bytes, has arrived: this
 * may rebuild others. */
void nopal__fec_arrived(struct nopal_session *session,
			const struct nopal_part *part,
			struct nopal__block *block, uint32_t index,
			uint32_t bytes);

#endif
