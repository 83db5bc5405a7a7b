/* SPDX-License-Identifier: MIT */
/*
 * cursor.h -- how bytes are read and written: one cursor, one sticky error.  Numbers are big
 * endian.  Part of microprotocol.h, which includes it.
 */
#ifndef NOPAL_CURSOR_H
#define NOPAL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nopal_reader {
	const uint8_t *at, *end;
	bool bad; /* something was short or not canonical: all reads give 0 */
};
struct nopal_writer {
	uint8_t *start, *at, *end;
	bool full; /* something did not fit: nothing more is written */
};

/* Of bytes that came. */
static inline struct nopal_reader nopal_reader_over(const uint8_t *bytes, size_t length)
{
	struct nopal_reader reader = { bytes, bytes + length, false };

	return reader;
}
uint64_t nopal_read(struct nopal_reader *reader, unsigned bytes); /* 1..8 */
uint64_t nopal_read_varint(struct nopal_reader *reader);	  /* shortest form only */
/* Where so many bytes lie; NULL: there are not as many. */
const uint8_t *nopal_read_bytes(struct nopal_reader *reader, size_t length);
/* Bytes that were not read yet. */
size_t nopal_read_left(const struct nopal_reader *reader);
/* All was there, all was used, all was canonical. */
bool nopal_read_complete(const struct nopal_reader *reader);

/* Into so many bytes. */
static inline struct nopal_writer nopal_writer_over(uint8_t *bytes, size_t room)
{
	struct nopal_writer writer = { bytes, bytes, bytes + room, false };

	return writer;
}
/* The low 1 to 8 bytes of a number. */
void nopal_write(struct nopal_writer *writer, uint64_t value, unsigned bytes);
/* A number in as few groups of 7 bits as it needs. */
void nopal_write_varint(struct nopal_writer *writer, uint64_t value);
/* Bytes as they are. */
void nopal_write_bytes(struct nopal_writer *writer, const void *bytes, size_t length);
/* Bytes, so far. */
static inline uint32_t nopal_written(const struct nopal_writer *writer)
{
	return (uint32_t)(writer->at - writer->start);
}

#ifdef __cplusplus
}
#endif

#endif
