/* SPDX-License-Identifier: MIT */
/*
 * stack.c -- the narrow interface between layers: a departing segment of one is
 * a message pushed into the layer below; a message that the lower layer delivers
 * pops up as an arriving segment; a lower message's fate is the upper segment's,
 * or, above destinations, that of one copy of it (group.c).
 *
 * Attributes are inherited on each step, so the header of the whole stack stays
 * one flat plan and no body is copied on the way down.
 */
#include <string.h>

#include "fields.h"
#include "session.h"

void nopal__stack_down(struct nopal_core *core, struct nopal_segment *segment)
{
	if (core->fans_out) {
		nopal__copies_leave(core, segment);
		return;
	}
	if (core->below->is_flow)
		segment->attribute[nopal__plan(core)->stream_slot] =
			core->stream;
	nopal__touch(core->below);
	if (core->below->life != NOPAL_LIFE_ENDED &&
	    nopal__message_from_above(core->below, segment) == 0)
		return;
	segment->fate = NOPAL_MISSING;
	segment->waiting[NOPAL_FINISH] &= ~NOPAL_HOLD_BELOW;
}

/* Pieces of a message as one body; the single piece of most is not copied. */
static bool body_of(const struct nopal_message *message,
		    struct nopal_body *ret_body)
{
	struct nopal_buffer *buffer;

	if (message->fragments == 1) {
		*ret_body = message->fragment[0];
		nopal_buffer_ref(ret_body->buffer);
		return true;
	}
	buffer = nopal_buffer_new((uint32_t)message->length);
	if (!buffer)
		return false;
	nopal_message_copy(message, 0, buffer->bytes, message->length);
	*ret_body = (struct nopal_body){ buffer, buffer->bytes,
					 (uint32_t)message->length };
	return true;
}

/* The lowest layer did not know which of its sessions an upper layer's numbers are
 * to be read near to. */
static void serials_expand(const struct nopal_core *core,
			   struct nopal_segment *segment)
{
	FOR_EACH_FIELD (field,
			&nopal__plan(core)->kinds[NOPAL_KIND_DATA].header)
		if (field->serial && field->layer == core->layer->index)
			segment->attribute[field->slot] = nopal__serial_expand(
				core->awake->serial[field->reference],
				segment->attribute[field->slot], field->bytes);
}

void nopal__stack_up(struct nopal_core *core, struct nopal_message *message)
{
	struct nopal_core *above =
		core->is_flow ? nopal__stream_for(core, message) : core->above;
	uint64_t kind = message->attribute[nopal__plan(core)->above_kind_slot];
	struct nopal_segment *segment;

	if (!above)
		return; /* of a stream that has ended */
	nopal__touch(above);
	if (above->life == NOPAL_LIFE_ENDED)
		return;
	if (kind >= NOPAL_KIND_ROOM || !nopal__plan(core)->kinds[kind].name) {
		core->awake->counters.rx_malformed++;
		return;
	}
	segment = nopal__segment_make(above, (uint8_t)kind);
	if (!segment || !body_of(message, &segment->body)) {
		above->awake->counters.rx_over_budget++;
		if (segment)
			nopal__segment_free(above, segment);
		return;
	}
	segment->incoming = true;
	segment->departed_ns = above->session.now_ns;
	memcpy(segment->attribute, message->attribute,
	       nopal__plan(core)->slot_count * sizeof(uint64_t));
	serials_expand(above, segment);
	if (above->fans_out)
		segment->attribute[nopal__plan(core)->destination_slot] =
			core->destination->id;
	if (above->layer->packet_number_slot)
		segment->packet_number =
			segment->attribute[above->layer->packet_number_slot];
	nopal__segment_arrive(above, segment);
}

void nopal__stack_done(struct nopal_core *core,
		       const struct nopal_message *message)
{
	struct nopal_core *above =
		core->is_flow ? nopal__stream_of(core, message) : core->above;
	struct nopal_segment *segment;
	enum nopal_fate fate;

	if (!above || above->life == NOPAL_LIFE_ENDED || !above->awake)
		return; /* at rest it waits for nothing */
	if (above->fans_out) {
		nopal__copy_done(core, message);
		return;
	}
	segment = nopal__pool_find(&above->awake->segments, message->above);
	if (!segment || !(segment->waiting[NOPAL_FINISH] & NOPAL_HOLD_BELOW))
		return;
	fate = nopal__message_fate(message);
	if (fate != NOPAL_UNKNOWN)
		segment->fate = (uint8_t)fate;
	segment->waiting[NOPAL_FINISH] &= ~NOPAL_HOLD_BELOW;
	nopal__touch(above);
	nopal__segment_settle(above, segment);
}
