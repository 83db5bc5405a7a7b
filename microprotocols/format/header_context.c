/* SPDX-License-Identifier: MIT */
/* header_context.c -- the values that a context foretells, and headers in their four forms. */
#include "header_context.h"

struct header_fields nopal__header_fields(const struct nopal_session *session)
{
	struct header_fields all = { 0 };

	all.field = nopal_data_fields(session, &all.count);
	while (all.anchor < all.count &&
	       (!all.field[all.anchor].serial || all.field[all.anchor].bytes < HEADER_ANCHOR_BYTES))
		all.anchor++;
	all.foretold = all.count < HEADER_FIELDS ? all.count : HEADER_FIELDS;
	all.mask = (uint8_t)((1u << all.foretold) - 1);
	if (all.anchor < all.foretold)
		all.mask &= (uint8_t) ~(1u << all.anchor);
	return all;
}

/* The low bytes of a number, which a field keeps. */
static uint64_t header_low(uint64_t value, unsigned bytes)
{
	return bytes < sizeof(value) ? value & ((UINT64_C(1) << (bytes * HEADER_BYTE_BITS)) - 1)
				     : value;
}

uint64_t nopal__header_value(const struct header_fields *all, const struct nopal_segment *segment,
			     unsigned field)
{
	return header_low(segment->attribute[all->field[field].slot], all->field[field].bytes);
}

uint64_t nopal__header_anchor(const struct header_fields *all, const struct nopal_segment *segment)
{
	return all->anchor < all->count ? nopal__header_value(all, segment, all->anchor) : 0;
}

static uint64_t header_foretold(const struct header_fields *all,
				const struct header_context *context, unsigned field,
				uint64_t anchor)
{
	uint64_t value = context->base[field];

	if (header_in(context->moving, field))
		value += anchor - context->anchor;
	return header_low(value, all->field[field].bytes);
}

/* Does the context foretell anything of the field? */
static bool header_has_base(const struct header_fields *all, const struct header_context *context,
			    unsigned field)
{
	return header_in(all->mask, field) &&
	       !header_in(context->spelled & ~context->moving, field);
}

static bool header_is_near(const struct header_context *context, unsigned field)
{
	return header_in(context->moving & context->spelled, field);
}

/* The number with this low byte that lies nearest to the value foretold. */
static uint64_t header_nearest(uint64_t foretold, uint64_t byte, unsigned bytes)
{
	int8_t ahead = (int8_t)(uint8_t)(byte - foretold);

	return header_low(foretold + (uint64_t)(int64_t)ahead, bytes);
}

uint8_t nopal__header_strays(const struct header_fields *all, const struct header_context *context,
			     const struct nopal_segment *segment)
{
	uint64_t anchor = nopal__header_anchor(all, segment);
	unsigned strays = 0;

	for (unsigned f = 0; f < all->foretold; f++) {
		uint64_t value = nopal__header_value(all, segment, f);
		uint64_t said = header_foretold(all, context, f, anchor);

		if (header_is_near(context, f))
			said = header_nearest(said, value & HEADER_BYTE, all->field[f].bytes);
		else if (header_in(context->spelled, f))
			said = value;
		if (header_in(all->mask, f) && said != value)
			strays |= 1u << f;
	}
	return (uint8_t)strays;
}

uint64_t nopal__header_away(const struct header_fields *all, const struct header_context *context,
			    const struct nopal_segment *segment)
{
	uint64_t anchor = nopal__header_anchor(all, segment);
	unsigned bytes;
	uint64_t ahead, behind;

	if (all->anchor == all->count)
		return 0;
	bytes = all->field[all->anchor].bytes;
	ahead = header_low(anchor - context->anchor, bytes);
	behind = header_low(context->anchor - anchor, bytes);
	return ahead < behind ? ahead : behind;
}

/* -------------------------------------------------------------------- writing */

static void header_write_first(struct nopal_writer *writer, unsigned form, uint8_t id)
{
	nopal_write(writer, form << HEADER_ID_BITS | id, 1);
}

static void header_write(const struct header_fields *all, const struct nopal_segment *segment,
			 unsigned field, struct nopal_writer *writer)
{
	nopal_write(writer, nopal__header_value(all, segment, field), all->field[field].bytes);
}

void nopal__header_plain(const struct header_fields *all, const struct nopal_segment *segment,
			 struct nopal_writer *writer)
{
	header_write_first(writer, HEADER_PLAIN, 0);
	for (unsigned f = 0; f < all->count; f++)
		header_write(all, segment, f, writer);
}

/* The fields behind the anchor that the context does not foretell. */
static void header_write_idle(const struct header_fields *all, const struct header_context *context,
			      uint8_t strays, const struct nopal_segment *segment,
			      struct nopal_writer *writer)
{
	for (unsigned f = 0; f < all->count; f++) {
		if (f == all->anchor)
			continue;
		if (header_is_near(context, f) && !header_in(strays, f))
			nopal_write(writer, nopal__header_value(all, segment, f) & HEADER_BYTE, 1);
		else if (!header_in(all->mask, f) || header_in(strays | context->spelled, f))
			header_write(all, segment, f, writer);
	}
}

void nopal__header_compact(const struct header_fields *all, const struct header_context *context,
			   const struct nopal_segment *segment, struct nopal_writer *writer)
{
	uint8_t strays = nopal__header_strays(all, context, segment);

	header_write_first(writer, strays ? HEADER_STRAYED : HEADER_COMPACT, context->id);
	if (all->anchor < all->count)
		nopal_write(writer, nopal__header_anchor(all, segment) & HEADER_ANCHOR,
			    HEADER_ANCHOR_BYTES);
	if (strays)
		nopal_write(writer, strays, 1);
	header_write_idle(all, context, strays, segment, writer);
}

bool nopal__header_define(const struct header_fields *all, const struct header_context *context,
			  const struct nopal_segment *segment, struct nopal_writer *writer)
{
	uint8_t strays = nopal__header_strays(all, context, segment);
	uint64_t anchor = nopal__header_anchor(all, segment);
	unsigned behind = 0; /* bytes behind the fields */

	for (unsigned f = 0; f < all->foretold; f++) {
		if (header_in(strays, f))
			behind += all->field[f].bytes;
		else if (header_is_near(context, f))
			behind++;
	}
	if (behind > HEADER_BEHIND || nopal__header_away(all, context, segment) >= HEADER_RENEW)
		return false;
	header_write_first(writer, HEADER_DEFINES, context->id);
	nopal_write(writer, context->moving, 1);
	nopal_write(writer, context->spelled, 1);
	nopal_write(writer, strays, 1);
	if (all->anchor < all->count)
		header_write(all, segment, all->anchor, writer);
	for (unsigned f = 0; f < all->foretold; f++)
		if (header_has_base(all, context, f))
			nopal_write(writer, header_foretold(all, context, f, anchor),
				    all->field[f].bytes);
	header_write_idle(all, context, strays, segment, writer);
	return true;
}

/* -------------------------------------------------------------------- reading */

static void header_set(const struct nopal_session *session, const struct nopal_field *field,
		       uint64_t value, struct nopal_segment *segment)
{
	segment->attribute[field->slot] =
		field->serial ? nopal_field_expand(session, field, value) : value;
}

/* All fields: the anchor, and the others as the context or the bytes behind the anchor say. */
static void header_read_idle(const struct nopal_session *session, const struct header_fields *all,
			     const struct header_context *context, uint8_t strays, uint64_t anchor,
			     struct nopal_segment *segment, struct nopal_reader *reader)
{
	for (unsigned f = 0; f < all->count; f++) {
		uint64_t value;

		if (f == all->anchor)
			value = anchor;
		else if (!header_has_base(all, context, f) || header_in(strays, f))
			value = nopal_read(reader, all->field[f].bytes);
		else
			value = header_foretold(all, context, f, anchor);
		if (header_is_near(context, f) && !header_in(strays, f))
			value = header_nearest(value, nopal_read(reader, 1), all->field[f].bytes);
		header_set(session, &all->field[f], value, segment);
	}
}

static bool header_read_defining(struct nopal_session *session, struct header_context *ring,
				 const struct header_fields *all, uint8_t id,
				 struct nopal_segment *segment, struct nopal_reader *reader)
{
	struct header_context context = { .id = id, .live = true };
	uint8_t strays;

	context.moving = (uint8_t)nopal_read(reader, 1);
	context.spelled = (uint8_t)nopal_read(reader, 1);
	strays = (uint8_t)nopal_read(reader, 1);
	if ((context.moving | context.spelled | strays) & ~all->mask)
		return false;
	if (all->anchor < all->count)
		context.anchor = nopal_read(reader, all->field[all->anchor].bytes);
	for (unsigned f = 0; f < all->foretold; f++)
		if (header_has_base(all, &context, f))
			context.base[f] = nopal_read(reader, all->field[f].bytes);
	header_read_idle(session, all, &context, strays, context.anchor, segment, reader);
	if (reader->bad)
		return false;
	ring[id % HEADER_RING] = context;
	return true;
}

static bool header_read_compact(struct nopal_session *session, struct header_context *ring,
				const struct header_fields *all, uint8_t first,
				struct nopal_segment *segment, struct nopal_reader *reader)
{
	uint8_t id = first & HEADER_ID, strays = 0;
	const struct header_context *context = &ring[id % HEADER_RING];
	uint64_t anchor = context->anchor;

	if (!context->live || context->id != id)
		return false;
	if (all->anchor < all->count) {
		uint64_t low = nopal_read(reader, HEADER_ANCHOR_BYTES);
		int16_t ahead = (int16_t)(uint16_t)(low - anchor);

		anchor = header_low(anchor + (uint64_t)(int64_t)ahead,
				    all->field[all->anchor].bytes);
	}
	if (first >> HEADER_ID_BITS == HEADER_STRAYED)
		strays = (uint8_t)nopal_read(reader, 1);
	if (strays & ~all->mask)
		return false;
	header_read_idle(session, all, context, strays, anchor, segment, reader);
	return true;
}

bool nopal__header_read(struct nopal_session *session, struct header_context *ring,
			struct nopal_segment *segment, struct nopal_reader *reader)
{
	struct header_fields all = nopal__header_fields(session);
	uint8_t first = (uint8_t)nopal_read(reader, 1);

	switch (first >> HEADER_ID_BITS) {
	case HEADER_PLAIN:
		for (unsigned f = 0; f < all.count; f++)
			header_set(session, &all.field[f], nopal_read(reader, all.field[f].bytes),
				   segment);
		return first == 0;
	case HEADER_DEFINES:
		return header_read_defining(session, ring, &all, first & HEADER_ID, segment,
					    reader);
	default:
		return header_read_compact(session, ring, &all, first, segment, reader);
	}
}
