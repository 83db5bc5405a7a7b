/* SPDX-License-Identifier: MIT */
/*
 * codec.c -- one cursor with a sticky error, for reading and for writing.
 *
 * Numbers are big endian.  A varint is 7 bits a byte, least first, the high bit says that more
 * follow (LEB128); only the shortest form is read, so a value has one encoding.  After the first
 * error a reader gives zeros and a writer writes nothing: callers check once, at the end.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "base/bytes.h"

enum {
	NUMBER_BYTES = 8, /* the longest number */
	VARINT_BITS = 7,
	VARINT_MORE = 0x80,
	VARINT_MASK = 0x7f,
	VARINT_LAST_SHIFT = 63, /* of the tenth byte: one bit is left for it */
};

static const uint8_t *codec_take(struct nopal_reader *reader, size_t length)
{
	const uint8_t *at = reader->at;

	if (reader->bad || (size_t)(reader->end - at) < length) {
		reader->bad = true;
		return NULL;
	}
	if (length)
		reader->at += length;
	return at;
}

uint64_t nopal_read(struct nopal_reader *reader, unsigned bytes)
{
	const uint8_t *at;

	if (bytes > NUMBER_BYTES)
		reader->bad = true;
	at = codec_take(reader, bytes);
	return at ? nopal__get(at, bytes) : 0;
}

uint64_t nopal_read_varint(struct nopal_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift <= VARINT_LAST_SHIFT; shift += VARINT_BITS) {
		const uint8_t *at = codec_take(reader, 1);

		if (!at || (*at == 0 && shift) || (shift == VARINT_LAST_SHIFT && *at > 1))
			break;
		value |= (uint64_t)(*at & VARINT_MASK) << shift;
		if (!(*at & VARINT_MORE))
			return value;
	}
	reader->bad = true;
	return 0;
}

const uint8_t *nopal_read_bytes(struct nopal_reader *reader, size_t length)
{
	return codec_take(reader, length);
}

size_t nopal_read_left(const struct nopal_reader *reader)
{
	return reader->bad ? 0 : (size_t)(reader->end - reader->at);
}

bool nopal_read_complete(const struct nopal_reader *reader)
{
	return !reader->bad && reader->at == reader->end;
}

static uint8_t *codec_room(struct nopal_writer *writer, size_t length)
{
	uint8_t *at = writer->at;

	if (writer->full || (size_t)(writer->end - at) < length) {
		writer->full = true;
		return NULL;
	}
	if (length)
		writer->at += length;
	return at;
}

/* A value longer than `bytes` loses its high bytes: so serials are truncated. */
void nopal_write(struct nopal_writer *writer, uint64_t value, unsigned bytes)
{
	uint8_t *at;

	if (bytes > NUMBER_BYTES)
		writer->full = true;
	at = codec_room(writer, bytes);
	if (at)
		nopal__put(at, value, bytes);
}

void nopal_write_varint(struct nopal_writer *writer, uint64_t value)
{
	uint64_t rest = value;
	size_t length = 1;
	uint8_t *at;

	while (rest >>= VARINT_BITS)
		length++;
	at = codec_room(writer, length);
	if (!at)
		return;
	for (; length > 1; length--, value >>= VARINT_BITS)
		*at++ = (uint8_t)((value & VARINT_MASK) | VARINT_MORE);
	*at = (uint8_t)value;
}

void nopal_write_bytes(struct nopal_writer *writer, const void *bytes, size_t length)
{
	uint8_t *at = codec_room(writer, length);

	if (at && length)
		memcpy(at, bytes, length);
}

uint64_t nopal__serial_expand(uint64_t reference, uint64_t truncated, unsigned bytes)
{
	uint64_t span, back, ahead;

	if (bytes >= sizeof(uint64_t))
		return truncated;
	span = UINT64_C(1) << (bytes * 8);
	back = span / 2 - 1; /* it lies at most so far behind, or span / 2 ahead */
	ahead = (truncated - reference + back) & (span - 1);
	return reference + ahead < back ? reference + ahead - back + span
					: reference + ahead - back;
}
