/* SPDX-License-Identifier: MIT */
/* header_read.c -- headers in their four forms, and the contexts that they define. */
#include "header_context.h"

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
		else if (!nopal__header_has_base(all, context, f) || header_in(strays, f))
			value = nopal_read(reader, all->field[f].bytes);
		else
			value = nopal__header_foretold(all, context, f, anchor);
		if (nopal__header_is_near(context, f) && !header_in(strays, f))
			value = nopal__header_nearest(value, nopal_read(reader, 1),
						      all->field[f].bytes);
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
		if (nopal__header_has_base(all, &context, f))
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

		anchor = nopal__header_low(anchor + (uint64_t)(int64_t)ahead,
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
