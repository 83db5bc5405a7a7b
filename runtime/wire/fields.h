/* SPDX-License-Identifier: MIT */
/*
 * fields.h -- the fields of a header, as its plan has them, to bytes and back.
 */
#ifndef NOPAL_FIELDS_H
#define NOPAL_FIELDS_H

#include "base/bytes.h"
#include "session/endpoint_sessions.h"

static inline __attribute__((always_inline)) uint8_t *nopal__fields_put(
	const struct nopal_header *header, const struct nopal_segment *segment, uint8_t *at)
{
	FOR_EACH_FIELD (field, header)
		at = nopal__put(at, segment->attribute[field->slot], field->bytes);
	return at;
}

static inline __attribute__((always_inline)) void nopal__fields_get(
	const struct nopal_composite *composite, const struct nopal_header *header,
	struct nopal_segment *segment, const uint8_t *at)
{
	FOR_EACH_FIELD (field, header) {
		uint64_t value = nopal__get(at, field->bytes);

		if (field->serial)
			value = nopal__serial_expand(composite->awake->serial[field->reference],
						     value, field->bytes);
		segment->attribute[field->slot] = value;
		at += field->bytes;
	}
}

#endif
