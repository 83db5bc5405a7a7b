/* SPDX-License-Identifier: MIT */
/*
 * symbol.h -- a segment as redundancy codes over it, and back.
 *
 *   | length 2 | wire attributes and body | zeros up to the longest |
 */
#ifndef NOPAL_SYMBOL_H
#define NOPAL_SYMBOL_H

#include <nopal/microprotocol.h>

enum { NOPAL__SYMBOL_LENGTH_BYTES = 2 };

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

/* What was rebuilt is believed when it is whole, with nothing but zeros behind it; else NULL. */
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
