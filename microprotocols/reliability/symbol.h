/* SPDX-License-Identifier: MIT */
/*
 * symbol.h -- what redundancy codes have in common: a segment as they code over it, and back; how
 * long to wait, and how much redundancy to make.
 *
 *   | length 2 | wire attributes and body | zeros up to the longest |
 */
#ifndef NOPAL_SYMBOL_H
#define NOPAL_SYMBOL_H

#include <nopal/microprotocol.h>

enum {
	NOPAL__SYMBOL_LENGTH_BYTES = 2,
	NOPAL__PLAYOUT_PARTS = 2, /* one half is for filling a block, one for the way */
};

/* How long segments wait for redundancy: `flush_ns`, or half the playout delay (a shared variable)
 * where that is shorter. */
static inline int64_t nopal__flush_ns(struct nopal_at at, int64_t flush_ns, unsigned playout_delay)
{
	int64_t playout_ns = nopal_shared_get(at, playout_delay) / NOPAL__PLAYOUT_PARTS;

	return playout_ns && playout_ns < flush_ns ? playout_ns : flush_ns;
}

/* How many segments of redundancy to make: as many as the code has, or as a policy's shared
 * variable says. */
static inline uint32_t nopal__redundancy_wanted(struct nopal_at at, unsigned policy, uint32_t max)
{
	int64_t wanted = nopal_shared_get(at, policy);

	if (wanted <= 0)
		return 0;
	return wanted < max ? (uint32_t)wanted : max;
}

/* The oldest segment of redundancy that may still arrive; NULL: there is none.  They leave in
 * order, so this one tells of all. */
static inline const struct nopal_segment *nopal__redundancy_open(struct nopal_session *session,
								 struct nopal_queue *unsettled)
{
	const struct nopal_segment *first;

	while ((first = nopal_queue_first(session, unsettled)) != NULL && first->done)
		nopal_queue_pop(unsettled);
	return first;
}

/* Bytes of the longest symbol on this path. */
static inline uint32_t nopal__symbol_room(const struct nopal_session *session)
{
	return nopal_pack_limit(session) + NOPAL__SYMBOL_LENGTH_BYTES;
}

/* Returns the bytes that it takes, without zeros, or 0 where `room` is short.  The acknowledgement
 * `floor` (an attribute of the part) that rides on a transmission is not part of the segment:
 * another transmission has another, and the symbol must be the same. */
static inline uint32_t nopal__symbol_pack(struct nopal_at at, struct nopal_segment *segment,
					  unsigned floor, uint8_t *symbol, uint32_t room)
{
	struct nopal_writer head = nopal_writer_over(symbol, NOPAL__SYMBOL_LENGTH_BYTES);
	uint64_t rides = nopal_get(at, segment, floor);
	uint32_t length;

	if (nopal_has(at, floor))
		nopal_set(at, segment, floor, 0);
	length = nopal_segment_pack(at.session, segment, symbol + NOPAL__SYMBOL_LENGTH_BYTES,
				    room - NOPAL__SYMBOL_LENGTH_BYTES);
	if (nopal_has(at, floor))
		nopal_set(at, segment, floor, rides);
	nopal_write(&head, length, NOPAL__SYMBOL_LENGTH_BYTES);
	return length ? length + NOPAL__SYMBOL_LENGTH_BYTES : 0;
}

/* A rebuilt segment is believed when it is whole, with nothing but zeros behind it; else NULL. */
static inline struct nopal_segment *nopal__symbol_unpack(struct nopal_session *session,
							 const uint8_t *symbol, uint32_t length)
{
	struct nopal_reader reader = nopal_reader_over(symbol, length);
	uint32_t bytes = (uint32_t)nopal_read(&reader, NOPAL__SYMBOL_LENGTH_BYTES);
	const uint8_t *packed = nopal_read_bytes(&reader, bytes);

	if (!bytes || reader.bad)
		return NULL;
	while (nopal_read_left(&reader))
		if (nopal_read(&reader, 1))
			return NULL;
	return nopal_segment_unpack(session, packed, bytes);
}

#endif
