/* SPDX-License-Identifier: MIT */
/*
 * stack.c -- the narrow interface between layers: a leaving segment of one is a message pushed
 * into the layer below; a message that the lower layer delivers pops up as an arriving segment; a
 * lower message's outcome is the upper segment's, or, above destinations, that of one copy of it
 * (group.c).
 *
 * Attributes are inherited on each step, so the header of the whole stack stays one flat plan and
 * no body is copied on the way down.
 *
 * Where nobody in the lower layer looks at messages, one that is one segment is not made: the
 * segment that leaves is a segment there, too, and the one that arrived goes up itself.
 */
#include <errno.h>
#include <string.h>

#include "session/stack.h"
#include "base/bytes.h"
#include "engine/message.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "session/session.h"

/* A body too long for one segment is left to the layer's own way to say so. */
static bool sinks(const struct nopal_composite *composite, const struct nopal_segment *segment)
{
	return nopal__layer(composite)->sinks && !composite->awake->own &&
	       composite->life != NOPAL_LIFE_OPENING &&
	       segment->body.length <= nopal__layer(composite)->body_bytes;
}

/* Does its layer want nothing more of it than its message's outcome?  Then it need not be there
 * twice.  Whoever raises it still looks at it. */
static bool lets_go(const struct nopal_composite *composite, const struct nopal_segment *segment)
{
	const struct nopal_awake *below = composite->below->awake;

	return nopal__layer(composite)->lets_go && !composite->awake->own && segment->message &&
	       segment->pins == 1 &&
	       below->segments.alive + below->messages.alive < below->budget.objects;
}

bool nopal__is_reliable(const struct nopal_composite *composite)
{
	int64_t unmet = 0;

	nopal_session_shared(&composite->session, "reliability_unmet", &unmet);
	return unmet != 0;
}

/* The layer below has no memory for it.  Whoever waits for it there never gets it:
 * so this one ends, or, where it has, and these were its last words, all below. */
static void lost_below(struct nopal_composite *composite)
{
	bool ended = composite->life == NOPAL_LIFE_ENDED;

	if (nopal__is_reliable(composite->below))
		nopal_session_break(ended ? &composite->below->session : &composite->session,
				    NOPAL_RESOURCE, "no room for a message in the layer below");
}

bool nopal__stack_down(struct nopal_composite *composite, struct nopal_segment *segment)
{
	struct nopal_composite *below = composite->below;
	int refusal = -EPIPE;

	if (segment->below) /* it would stand in line behind itself */
		return false;
	segment->below = true;
	nopal__touch(below);
	if (below->life != NOPAL_LIFE_ENDED) {
		bool segments = sinks(below, segment);

		if (segments && lets_go(composite, segment)) {
			nopal__segment_take(below, composite, segment);
			return true;
		}
		refusal = segments ? nopal__segment_from_above(below, segment)
				   : nopal__message_from_above(below, segment);
		if (refusal == 0)
			return false;
	}
	segment->outcome = NOPAL_OUTCOME_LOST;
	segment->below = false;
	segment->waiting[NOPAL_DONE] &= ~NOPAL_HOLD_BELOW;
	if (refusal == -ENOBUFS)
		lost_below(composite);
	return false;
}

/* Pieces of a message as one body; the single piece of most is not copied. */
static bool body_of(const struct nopal_message *message, struct nopal_body *ret_body)
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
	*ret_body = (struct nopal_body){ buffer, buffer->bytes, (uint32_t)message->length };
	return true;
}

/* The composite above that takes an item which arrived with these attributes, and the item's kind
 * there; NULL: no composite takes it any more, or the attributes make no sense. */
static struct nopal_composite *taker(struct nopal_composite *composite, const uint64_t *attribute,
				     uint8_t *ret_kind)
{
	const struct nopal_up *up = nopal__up(composite);
	struct nopal_composite *above =
		up->taker ? up->taker(composite, attribute) : composite->above;
	uint64_t kind = attribute[nopal__layer(composite)->above_kind_slot];

	if (!above)
		return NULL; /* of a stream that has ended */
	nopal__touch(above);
	if (above->life == NOPAL_LIFE_ENDED)
		return NULL;
	if (kind >= NOPAL_KIND_ROOM || !(nopal__layer(above)->kinds >> kind & 1)) {
		composite->awake->counters.rx_malformed++;
		return NULL;
	}
	*ret_kind = (uint8_t)kind;
	return above;
}

static void enter(struct nopal_composite *composite, struct nopal_composite *above,
		  struct nopal_segment *segment)
{
	uint8_t slot = nopal__layer(above)->packet_number_slot;

	/* The lowest layer did not know which of its sessions an upper layer's numbers are to be
	 * read near to. */
	FOR_EACH_FIELD (field, &nopal__plan(above)->serials)
		if (field->layer == above->layer->index)
			segment->attribute[field->slot] =
				nopal__serial_expand(above->awake->serial[field->reference],
						     segment->attribute[field->slot], field->bytes);
	if (nopal__up(composite)->arrives)
		nopal__up(composite)->arrives(composite, segment);
	segment->packet_number = slot ? segment->attribute[slot] : 0;
	nopal__segment_enter(above, segment);
}

void nopal__stack_up(struct nopal_composite *composite, struct nopal_message *message)
{
	struct nopal_composite *above;
	struct nopal_segment *segment;
	uint8_t kind;

	above = taker(composite, message->attribute, &kind);
	if (!above)
		return;
	segment = nopal__segment_make(above, kind);
	if (!segment || !body_of(message, &segment->body)) {
		if (segment)
			nopal__segment_free(above, segment);
		/* Where what the layer below has acknowledged counts as arrived, nothing sends it
		 * again. */
		above->awake->counters.rx_over_budget++;
		if (nopal__is_reliable(composite))
			nopal_session_break(&above->session, NOPAL_RESOURCE,
					    "no room for a message that arrived");
		return;
	}
	segment->incoming = true;
	segment->transmitted_ns = above->session.now_ns;
	memcpy(segment->attribute, message->attribute,
	       nopal__plan(composite)->slot_count * sizeof(uint64_t));
	enter(composite, above, segment);
	nopal__segment_free(above, segment);
}

/* Each layer has attributes of its own: but for these few fields what arrived is one thing in
 * both. */
bool nopal_segment_rise(struct nopal_session *session, struct nopal_segment *segment)
{
	struct nopal_composite *composite = nopal__composite(session), *above;
	const struct nopal_segment here = *segment;

	if (!nopal__layer(composite)->rises || composite->awake->own)
		return false;
	composite->awake->counters.messages_delivered++;
	composite->awake->counters.bytes_delivered += segment->body.length;
	nopal__record(composite, NOPAL_TRACED_DELIVER, UINT8_MAX, 0, segment->number,
		      segment->body.length);
	above = taker(composite, segment->attribute, &segment->kind);
	if (!above)
		return true;
	segment->handle = (struct nopal_handle){ 0 };
	segment->number = ++above->awake->numbered;
	segment->ecn = NOPAL_NOT_ECT;
	segment->path = 0;
	enter(composite, above, segment);
	segment->handle = here.handle;
	segment->kind = here.kind;
	segment->number = here.number;
	segment->packet_number = here.packet_number;
	segment->ecn = here.ecn;
	segment->path = here.path;
	return true;
}

struct nopal_composite *nopal__stack_waits(const struct nopal_composite *composite,
					   const uint64_t *attribute)
{
	const struct nopal_up *up = nopal__up(composite);
	struct nopal_composite *above =
		up->waiting ? up->waiting(composite, attribute) : composite->above;

	return above && above->life != NOPAL_LIFE_ENDED && above->awake ? above : NULL;
}

static void message_done(struct nopal_composite *composite, const struct nopal_segment *segment)
{
	struct nopal_composite *above = nopal__stack_waits(composite, segment->attribute);
	struct nopal_message *message = NULL;

	if (above)
		message = nopal__pool_find(&above->awake->messages, segment->above);
	if (!message)
		return;
	nopal__touch(above);
	nopal__messages_segment_done(above, message, segment->outcome);
}

static void segment_done(struct nopal_composite *composite, const uint64_t *attribute,
			 struct nopal_handle handle, enum nopal_outcome outcome)
{
	struct nopal_composite *above = nopal__stack_waits(composite, attribute);
	struct nopal_segment *segment;

	if (!above)
		return;
	segment = nopal__pool_find(&above->awake->segments, handle);
	if (!segment)
		return;
	segment->below = false;
	if (!(segment->waiting[NOPAL_DONE] & NOPAL_HOLD_BELOW))
		return;
	if (outcome != NOPAL_OUTCOME_UNKNOWN && segment->outcome != NOPAL_OUTCOME_DELIVERED)
		segment->outcome = (uint8_t)outcome;
	segment->waiting[NOPAL_DONE] &= ~NOPAL_HOLD_BELOW;
	nopal__touch(above);
	nopal__segment_settle(above, segment);
}

void nopal__stack_outcome(struct nopal_composite *composite, const struct nopal_message *message,
			  enum nopal_outcome outcome)
{
	segment_done(composite, message->attribute, message->above, outcome);
}

void nopal__stack_segment_outcome(struct nopal_composite *composite,
				  const struct nopal_segment *segment)
{
	if (segment->taken)
		message_done(composite, segment);
	else
		segment_done(composite, segment->attribute, segment->above, segment->outcome);
}

void nopal__stack_left(struct nopal_composite *composite, const uint64_t *attribute,
		       struct nopal_handle above, const struct nopal_segment *taken)
{
	struct nopal_composite *waits = nopal__stack_waits(composite, attribute);
	struct nopal_segment *segment;

	if (!waits)
		return;
	nopal__touch(waits);
	if (taken) {
		nopal__messages_left(waits, nopal__pool_find(&waits->awake->messages, above),
				     taken->body.length);
		return;
	}
	segment = nopal__pool_find(&waits->awake->segments, above);
	if (segment)
		nopal__segment_left(waits, segment);
}

/* ------------------------------------------------- two layers of one stack */

static void layer_opened(struct nopal_composite *composite)
{
	nopal__session_start(composite->above);
}

void nopal__layer_peer_closed(struct nopal_composite *composite)
{
	nopal_session_peer_closed(&composite->above->session);
}

const struct nopal_up nopal__layer_up = {
	.name = "layer",
	.same_stack = true,
	.opened = layer_opened,
	.pop = nopal__stack_up,
	.outcome = nopal__stack_outcome,
	.segment_outcome = nopal__stack_segment_outcome,
	.left = nopal__stack_left,
	.peer_closed = nopal__layer_peer_closed,
};

void nopal__layer_closed(struct nopal_composite *composite)
{
	if (composite->peer_closed)
		composite->life = NOPAL_LIFE_ENDED;
	nopal__session_close(composite->below);
}

const struct nopal_down nopal__layer_down = {
	.name = "layer",
	.same_stack = true,
	.push = nopal__stack_down,
	.closed = nopal__layer_closed,
};
