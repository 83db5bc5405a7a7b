/* SPDX-License-Identifier: MIT */
/* header_context.c -- the values that a context foretells. */
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

uint64_t nopal__header_low(uint64_t value, unsigned bytes)
{
	return bytes < sizeof(value) ? value & ((UINT64_C(1) << (bytes * HEADER_BYTE_BITS)) - 1)
				     : value;
}

uint64_t nopal__header_value(const struct header_fields *all, const struct nopal_segment *segment,
			     unsigned field)
{
	return nopal__header_low(segment->attribute[all->field[field].slot],
				 all->field[field].bytes);
}

uint64_t nopal__header_anchor(const struct header_fields *all, const struct nopal_segment *segment)
{
	return all->anchor < all->count ? nopal__header_value(all, segment, all->anchor) : 0;
}

uint64_t nopal__header_foretold(const struct header_fields *all,
				const struct header_context *context, unsigned field,
				uint64_t anchor)
{
	uint64_t value = context->base[field];

	if (header_in(context->moving, field))
		value += anchor - context->anchor;
	return nopal__header_low(value, all->field[field].bytes);
}

bool nopal__header_has_base(const struct header_fields *all, const struct header_context *context,
			    unsigned field)
{
	return header_in(all->mask, field) &&
	       !header_in(context->spelled & ~context->moving, field);
}

bool nopal__header_is_near(const struct header_context *context, unsigned field)
{
	return header_in(context->moving & context->spelled, field);
}

uint64_t nopal__header_nearest(uint64_t foretold, uint64_t byte, unsigned bytes)
{
	int8_t ahead = (int8_t)(uint8_t)(byte - foretold);

	return nopal__header_low(foretold + (uint64_t)(int64_t)ahead, bytes);
}

uint8_t nopal__header_strays(const struct header_fields *all, const struct header_context *context,
			     const struct nopal_segment *segment)
{
	uint64_t anchor = nopal__header_anchor(all, segment);
	unsigned strays = 0;

	for (unsigned f = 0; f < all->foretold; f++) {
		uint64_t value = nopal__header_value(all, segment, f);
		uint64_t said = nopal__header_foretold(all, context, f, anchor);

		if (nopal__header_is_near(context, f))
			said = nopal__header_nearest(said, value & HEADER_BYTE,
						     all->field[f].bytes);
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
	ahead = nopal__header_low(anchor - context->anchor, bytes);
	behind = nopal__header_low(context->anchor - anchor, bytes);
	return ahead < behind ? ahead : behind;
}
