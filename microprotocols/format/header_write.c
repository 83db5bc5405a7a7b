/* SPDX-License-Identifier: MIT */
/* header_write.c -- headers in their four forms. */
#include "header_context.h"

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
		if (nopal__header_is_near(context, f) && !header_in(strays, f))
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
		else if (nopal__header_is_near(context, f))
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
		if (nopal__header_has_base(all, context, f))
			nopal_write(writer, nopal__header_foretold(all, context, f, anchor),
				    all->field[f].bytes);
	header_write_idle(all, context, strays, segment, writer);
	return true;
}
