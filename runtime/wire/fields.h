/* SPDX-License-Identifier: MIT */
/*
 * fields.h -- the fields of a header, as its plan has them, to bytes and back.
 */
#ifndef NOPAL_FIELDS_H
#define NOPAL_FIELDS_H

#include "base/bytes.h"
#include "session/session.h"

/* In a fused unit the header is a constant, and the loop a straight line. */
#ifdef NOPAL_FUSED_LAYERS
#define FOR_EACH_FIELD(field, header)                                                              \
	_Pragma("GCC unroll 32") for (const struct nopal_field *field = (header)->fields;          \
				      field < (header)->fields + (header)->count; field++)
#else
#define FOR_EACH_FIELD(field, header)                                                              \
	for (const struct nopal_field *field = (header)->fields;                                   \
	     field < (header)->fields + (header)->count; field++)
#endif

static inline __attribute__((always_inline)) uint8_t *put_fields(
	const struct nopal_header *header, const struct nopal_segment *segment, uint8_t *at)
{
	FOR_EACH_FIELD (field, header)
		at = nopal__put(at, segment->attribute[field->slot], field->bytes);
	return at;
}

static inline __attribute__((always_inline)) void get_fields(const struct nopal_core *core,
							     const struct nopal_header *header,
							     struct nopal_segment *segment,
							     const uint8_t *at)
{
	FOR_EACH_FIELD (field, header) {
		uint64_t value = nopal__get(at, field->bytes);

		if (field->serial)
			value = nopal__serial_expand(core->awake->serial[field->reference], value,
						     field->bytes);
		segment->attribute[field->slot] = value;
		at += field->bytes;
	}
}

#endif
