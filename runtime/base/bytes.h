/* SPDX-License-Identifier: MIT */
/*
 * bytes.h -- big endian numbers of 1 to 8 bytes, the only ones on the wire.
 *
 * Where the width is known when this is compiled, one load or store is left.
 */
#ifndef NOPAL_BYTES_H
#define NOPAL_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Returns where the next one goes; a longer value loses its high bytes. */
static inline uint8_t *nopal__put(uint8_t *at, uint64_t value, unsigned bytes)
{
	uint64_t wide = htobe64(value);
	uint32_t half = htobe32((uint32_t)value);
	uint16_t quarter = htobe16((uint16_t)value);

	if (bytes == sizeof(half))
		memcpy(at, &half, sizeof(half));
	else if (bytes == sizeof(quarter))
		memcpy(at, &quarter, sizeof(quarter));
	else if (bytes == sizeof(*at))
		*at = (uint8_t)value;
	else
		memcpy(at, (const uint8_t *)&wide + sizeof(wide) - bytes, bytes);
	return at + bytes;
}

static inline uint64_t nopal__get(const uint8_t *at, unsigned bytes)
{
	uint64_t wide = 0;
	uint32_t half;
	uint16_t quarter;

	if (bytes == sizeof(half)) {
		memcpy(&half, at, sizeof(half));
		return be32toh(half);
	}
	if (bytes == sizeof(quarter)) {
		memcpy(&quarter, at, sizeof(quarter));
		return be16toh(quarter);
	}
	if (bytes == sizeof(*at))
		return *at;
	memcpy((uint8_t *)&wide + sizeof(wide) - bytes, at, bytes);
	return be64toh(wide);
}

/* The number nearest to `reference` whose low bytes are `truncated`. */
uint64_t nopal__serial_expand(uint64_t reference, uint64_t truncated, unsigned bytes);

#endif
