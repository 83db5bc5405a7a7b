/* SPDX-License-Identifier: MIT */
/*
 * segment.c -- segments: their making, their three barriers, their transmissions.
 *
 * The four rules live here.  Epoch: nopal__depart re-arms the send bits that are not sticky.
 * Generation: nopal_segment_find.  No send after done: nopal__depart refuses.  Owner: nopal_release
 * clears only the caller's bit, and only while it is held.
 */
#include <errno.h>
#include <string.h>

#include "engine/segment.h"
#include "engine/event.h"
#include "engine/message.h"
#include "engine/timer.h"

static __attribute__((noinline)) void *segment_gone(struct nopal_composite *composite,
						    struct nopal_handle handle)
{
	composite->awake->counters.stale_handles++;
	nopal__note(composite, NOPAL_NOTE_STALE, handle.index, handle.generation);
	return NULL;
}

NOPAL_HOT struct nopal_segment *nopal_segment_find(struct nopal_session *session,
						   struct nopal_handle handle)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_segment *segment = nopal__pool_find(&composite->awake->segments, handle);

	return segment ? segment : segment_gone(composite, handle);
}

NOPAL_HOT void nopal_segment_prefetch(struct nopal_session *session, struct nopal_handle handle)
{
	const struct nopal_pool *pool = nopal__composite(session)->awake->segments.pool;

	if (handle.index < pool->made)
		nopal__object_prefetch(nopal__object_at(pool, handle.index));
}

/* But for the attributes. */
NOPAL_HOT static inline struct nopal_segment *segment_make(struct nopal_composite *composite,
							   uint8_t kind)
{
	struct nopal_segment *segment;

	if (composite->awake->segments.alive + composite->awake->messages.alive >=
	    composite->awake->budget.objects)
		return NULL;
	segment = nopal__pool_take(&composite->awake->segments);
	if (!segment)
		return NULL;
	/* In two strokes: for all at once compilers take `rep stos`, which is slow to begin. */
	memset(segment, 0, offsetof(struct nopal_segment, body));
	segment->body = (struct nopal_body){ 0 };
	segment->handle = nopal__pool_handle(segment);
	segment->kind = kind;
	segment->number = ++composite->awake->numbered;
	segment->created_ns = composite->session.now_ns;
	segment->transmitted_ns = -1;
	return segment;
}

static void attributes_clear(const struct nopal_composite *composite, struct nopal_segment *segment)
{
	memset(segment->attribute, 0, nopal__plan(composite)->slot_count * sizeof(uint64_t));
}

struct nopal_segment *nopal__segment_make(struct nopal_composite *composite, uint8_t kind)
{
	struct nopal_segment *segment = segment_make(composite, kind);

	if (segment)
		attributes_clear(composite, segment);
	return segment;
}

NOPAL_HOT struct nopal_segment *nopal__segment_make_carried(struct nopal_composite *composite,
							    uint8_t kind)
{
	struct nopal_segment *segment = segment_make(composite, kind);

	if (segment)
		nopal__segment_hold(composite, segment);
	return segment;
}

static __attribute__((noinline)) void record_holds(struct nopal_composite *composite,
						   const struct nopal_segment *segment)
{
	for (unsigned barrier = NOPAL_SEND; barrier <= NOPAL_DEALLOCATE; barrier++)
		if (segment->waiting[barrier])
			nopal__record(composite, NOPAL_TRACED_HOLD, UINT8_MAX, (uint16_t)barrier,
				      segment->number, segment->waiting[barrier]);
}

NOPAL_HOT void nopal__segment_hold(struct nopal_composite *composite, struct nopal_segment *segment)
{
	const struct nopal_layer *layer = nopal__layer(composite);
	uint8_t kind = segment->kind;

	segment->wanted = true;
	segment->waiting[NOPAL_SEND] = layer->hold[NOPAL_SEND][kind];
	segment->waiting[NOPAL_DONE] = layer->hold[NOPAL_DONE][kind];
	segment->waiting[NOPAL_DEALLOCATE] = layer->hold[NOPAL_DEALLOCATE][kind];
	if (composite->world->tracer)
		record_holds(composite, segment);
	if (!nopal__down(composite)->leaves)
		segment->waiting[NOPAL_DONE] |= NOPAL_HOLD_BELOW;
	nopal__watchdog_start(composite);
}

NOPAL_HOT struct nopal_segment *nopal_segment_new(struct nopal_session *session,
						  struct nopal_message *message,
						  struct nopal_body body)
{
	struct nopal_composite *composite = nopal__composite(session);
	struct nopal_segment *segment = nopal__segment_make_carried(composite, NOPAL_KIND_DATA);

	if (!segment) {
		nopal_buffer_unref(body.buffer);
		return NULL;
	}
	segment->body = body;
	segment->message = message;
	segment->urgent = message->urgent;
	memcpy(segment->attribute, message->attribute,
	       nopal__plan(composite)->slot_count * sizeof(uint64_t));
	message->segments_open++;
	return segment;
}

NOPAL_HOT struct nopal_segment *nopal_segment_cut(struct nopal_session *session,
						  struct nopal_message *message, uint64_t from,
						  uint32_t length)
{
	return nopal_segment_new(session, message,
				 (struct nopal_body){ nopal_buffer_ref(message->one.buffer),
						      message->one.bytes + from, length });
}

void nopal_segment_also(struct nopal_session *session, struct nopal_segment *segment,
			struct nopal_message *message)
{
	(void)session;
	message->also = segment->message->also;
	segment->message->also = message;
	message->segments_open++;
}

NOPAL_HOT void nopal__segment_free(struct nopal_composite *composite, struct nopal_segment *segment)
{
	nopal__record(composite, NOPAL_TRACED_FREE, UINT8_MAX, 0, segment->number, 0);
	nopal_buffer_unref(segment->body.buffer);
	nopal__pool_give(&composite->awake->segments, segment);
}

/* ----------------------------------------------------------- done and freed */

void nopal__segment_settle_now(struct nopal_composite *composite, struct nopal_segment *segment)
{
	struct nopal_message *message = segment->message;

	if (!segment->done) {
		segment->done = true;
		segment->wanted = false;
		segment->pins++;
		nopal_raise_SEGMENT_DONE(&composite->session, segment);
		segment->message = NULL;
		if (segment->above.generation)
			nopal__segment_tell_outcome(composite, segment);
		else
			nopal__messages_segment_done(composite, message, segment->outcome);
		segment->pins--;
	}
	if (!segment->waiting[NOPAL_DEALLOCATE] && !segment->pins)
		nopal__segment_free(composite, segment);
}

static __attribute__((noinline)) void release_misuse(struct nopal_composite *composite,
						     const struct nopal_part *part,
						     const struct nopal_segment *segment,
						     uint32_t bit)
{
	composite->awake->counters.misuses++;
	nopal__record(composite, NOPAL_TRACED_NOTE, part->index, NOPAL_NOTE_MISUSE, segment->number,
		      bit);
}

static void record_release(struct nopal_composite *composite, const struct nopal_part *part,
			   const struct nopal_segment *segment, enum nopal_barrier barrier)
{
	nopal__record(composite, NOPAL_TRACED_RELEASE, part->index, (uint16_t)barrier,
		      segment->number, segment->waiting[barrier]);
}

static __attribute__((noinline)) void release_last(struct nopal_composite *composite,
						   const struct nopal_part *part,
						   struct nopal_segment *segment,
						   enum nopal_barrier barrier)
{
	record_release(composite, part, segment, barrier);
	if (barrier != NOPAL_SEND)
		nopal__segment_settle(composite, segment);
	else if (segment->wanted)
		nopal__depart(composite, segment);
}

/* Most releases leave other bits: each call here comes last, so that there is nothing to keep for
 * afterwards. */
NOPAL_HOT void nopal_release(struct nopal_at at, struct nopal_segment *segment,
			     enum nopal_barrier barrier)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	uint32_t bit = at.part->hold[barrier];

	if (!(segment->waiting[barrier] & bit)) {
		release_misuse(composite, at.part, segment, bit);
		return;
	}
	segment->waiting[barrier] &= ~bit;
	if (segment->waiting[barrier])
		record_release(composite, at.part, segment, barrier);
	else
		release_last(composite, at.part, segment, barrier);
}

/* -------------------------------------------------------------- transmissions */

static bool transmissions_grow(struct nopal_composite *composite)
{
	struct nopal_transmissions *all = &composite->awake->transmissions;
	uint32_t room = all->room ? all->room * 2 : 64;
	struct nopal_transmission *ring = nopal_alloc(&composite->session, room * sizeof(*ring));

	if (!ring)
		return false;
	for (uint64_t number = all->oldest; number < all->next; number++)
		ring[number & (room - 1)] = all->ring[number & (all->room - 1)];
	nopal_free(&composite->session, all->ring);
	all->ring = ring;
	all->room = room;
	return true;
}

NOPAL_HOT static int transmission_note(struct nopal_composite *composite,
				       struct nopal_segment *segment)
{
	struct nopal_transmissions *all = &composite->awake->transmissions;

	if (!nopal__layer(composite)->tracks) {
		segment->packet_number = all->next++;
		all->oldest = all->next;
		return 0;
	}
	if (all->next - all->oldest == all->room && !transmissions_grow(composite))
		return -ENOMEM;
	if (segment->transmissions)
		nopal_segment_settle(&composite->session, segment);
	segment->packet_number = all->next++;
	all->ring[segment->packet_number & (all->room - 1)] =
		(struct nopal_transmission){ segment->handle, composite->session.now_ns, true };
	return 0;
}

uint64_t nopal_oldest_transmission(const struct nopal_session *session)
{
	return nopal__composite(session)->awake->transmissions.oldest;
}

uint64_t nopal_next_packet_number(const struct nopal_session *session)
{
	return nopal__composite(session)->awake->transmissions.next;
}

/* Settled transmissions stay readable until their place in the ring is needed:
 * the round trip of a late ack is still a true one. */
struct nopal_transmission *nopal_transmission_find(struct nopal_session *session,
						   uint64_t packet_number)
{
	struct nopal_transmissions *all = &nopal__composite(session)->awake->transmissions;

	if (packet_number >= all->next || all->next - packet_number > all->room)
		return NULL;
	return &all->ring[packet_number & (all->room - 1)];
}

NOPAL_HOT void nopal_transmission_settle(struct nopal_session *session, uint64_t packet_number)
{
	struct nopal_transmissions *all = &nopal__composite(session)->awake->transmissions;

	if (packet_number < all->oldest || packet_number >= all->next)
		return;
	all->ring[packet_number & (all->room - 1)].open = false;
	while (all->oldest < all->next && !all->ring[all->oldest & (all->room - 1)].open)
		all->oldest++;
}

NOPAL_HOT void nopal_segment_settle(struct nopal_session *session,
				    const struct nopal_segment *segment)
{
	if (segment->transmissions)
		nopal_transmission_settle(session, segment->packet_number);
}

static void refuse_send(struct nopal_composite *composite, const struct nopal_segment *segment)
{
	composite->awake->counters.refused_sends++;
	nopal__note(composite, NOPAL_NOTE_REFUSED_SEND, segment->number, 0);
}

void nopal__depart(struct nopal_composite *composite, struct nopal_segment *segment)
{
	const struct nopal_down *down = nopal__down(composite);

	if (segment->done) {
		refuse_send(composite, segment);
		return;
	}
	if (down->may_leave && !down->may_leave(composite, segment)) {
		nopal__endpoint_ops.wait(composite, segment);
		return;
	}
	if (transmission_note(composite, segment) < 0) {
		nopal__break(composite, NOPAL_RESOURCE, "no room to note a transmission");
		return;
	}
	composite->awake->counters.transmissions++;
	if (segment->transmissions++)
		composite->awake->counters.resends++;
	else if (composite->world->counts_unsent && down == &nopal__endpoint_down)
		nopal__segment_left(composite, segment);
	segment->transmitted_ns = composite->session.now_ns;
	segment->wanted = false;
	segment->waiting[NOPAL_SEND] |= nopal__layer(composite)->rearm[segment->kind];
	if (nopal__layer(composite)->packet_number_slot)
		segment->attribute[nopal__layer(composite)->packet_number_slot] =
			segment->packet_number;
	if (down->leaves) /* not done before it has left */
		segment->waiting[NOPAL_DONE] |= NOPAL_HOLD_BELOW;
	segment->pins++;
	nopal_raise_SEND_SEGMENT(&composite->session, segment);
	nopal__record(composite, NOPAL_TRACED_TRANSMIT, UINT8_MAX, segment->kind, segment->number,
		      segment->packet_number);
	if (segment->waiting[NOPAL_SEND])
		nopal__record(composite, NOPAL_TRACED_HOLD, UINT8_MAX, NOPAL_SEND, segment->number,
			      segment->waiting[NOPAL_SEND]);
	/* Nobody waits for the status of a transmission whose kind has no done bits. */
	if (!nopal__layer(composite)->hold[NOPAL_DONE][segment->kind])
		nopal_segment_settle(&composite->session, segment);
	if (down->push(composite, segment))
		return;
	if (down->leaves)
		segment->waiting[NOPAL_DONE] &= ~NOPAL_HOLD_BELOW;
	segment->pins--;
	nopal__segment_settle(composite, segment);
}

bool nopal_segment_resend(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_composite *composite = nopal__composite(at.session);

	if (segment->done) {
		refuse_send(composite, segment);
		return false;
	}
	if (segment->wanted || segment->last || segment->transmissions == 0)
		return false;
	segment->wanted = true;
	segment->created_ns = at.session->now_ns;
	nopal__watchdog_start(composite);
	segment->pins++;
	nopal_raise_SEGMENT_RESEND(at.session, segment);
	/* A handler may have let it leave: then the bits are those of the next epoch. */
	if (segment->wanted && nopal_holds(at, segment, NOPAL_SEND))
		nopal_release(at, segment, NOPAL_SEND);
	else if (segment->wanted && !segment->waiting[NOPAL_SEND])
		nopal__depart(composite, segment);
	segment->pins--;
	nopal__segment_settle(composite, segment);
	return true;
}

void nopal_segment_abandon(struct nopal_session *session, struct nopal_segment *segment)
{
	if (!segment->transmissions) /* the layer below will never have it */
		segment->waiting[NOPAL_DONE] &= ~NOPAL_HOLD_BELOW;
	/* A segment that only the layer below still waits for is no concern of its own layer. */
	if (segment->done || segment->waiting[NOPAL_DONE] == NOPAL_HOLD_BELOW)
		return;
	nopal_segment_settle(session, segment);
	segment->wanted = false;
	segment->last = true;
	if (segment->outcome == NOPAL_OUTCOME_UNKNOWN || segment->outcome == NOPAL_OUTCOME_LOST)
		segment->outcome = NOPAL_OUTCOME_EXPIRED; /* lost before, it would go again */
	segment->pins++;
	nopal_raise_SEGMENT_ABANDONED(session, segment);
	segment->pins--;
	nopal__segment_settle(nopal__composite(session), segment);
}

/* ---------------------------------------------------------------- arrivals */

NOPAL_HOT void nopal__segment_enter(struct nopal_composite *composite,
				    struct nopal_segment *segment)
{
	uint8_t index =
		nopal__plan(composite)->serial_of[nopal__layer(composite)->packet_number_slot];

	nopal__record(composite, NOPAL_TRACED_ARRIVE, UINT8_MAX, segment->kind, segment->number,
		      segment->packet_number);
	if (index && segment->packet_number > composite->awake->serial[index - 1])
		composite->awake->serial[index - 1] = segment->packet_number;
	nopal_raise_SEGMENT_FROM_NET(&composite->session, segment);
}

NOPAL_HOT void nopal__segment_arrive(struct nopal_composite *composite,
				     struct nopal_segment *segment)
{
	nopal__segment_enter(composite, segment);
	nopal__segment_free(composite, segment);
}

/* ------------------------------------------------- kinds of microprotocols */

static void control_buffer_release(struct nopal_buffer *buffer)
{
	struct nopal_world *world = buffer->owner;

	buffer->owner = world->spare;
	world->spare = buffer;
}

/* Buffers of one datagram are used again and again. */
struct nopal_buffer *nopal_body_buffer(struct nopal_session *session, uint32_t capacity)
{
	struct nopal_world *world = nopal__composite(session)->world;
	struct nopal_buffer *buffer = world->spare;

	if (capacity > NOPAL_SPARE_BYTES)
		return nopal_buffer_new(capacity);
	if (buffer)
		world->spare = buffer->owner;
	else
		buffer = nopal_buffer_new(NOPAL_SPARE_BYTES);
	if (!buffer)
		return NULL;
	buffer->references = 1;
	buffer->owner = world;
	buffer->release = control_buffer_release;
	return buffer;
}

struct nopal_segment *nopal_control_new(struct nopal_at at, unsigned kind, uint32_t length,
					uint8_t **ret_bytes)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	uint8_t code = at.part->kind[kind];
	bool carried = nopal__plan(composite)->kinds[code].class == NOPAL_KIND_CARRIED;
	struct nopal_buffer *buffer = nopal_body_buffer(at.session, length);
	struct nopal_segment *segment = NULL;

	if (buffer)
		segment = carried ? nopal__segment_make_carried(composite, code)
				  : segment_make(composite, code);
	if (!segment) {
		nopal_buffer_unref(buffer);
		return NULL;
	}
	attributes_clear(composite, segment);
	segment->body = (struct nopal_body){ buffer, buffer->bytes, length };
	*ret_bytes = buffer->bytes;
	return segment;
}

void nopal__control_note(struct nopal_composite *composite, struct nopal_segment *segment,
			 uint32_t length)
{
	segment->body.length = length;
	segment->transmitted_ns = composite->session.now_ns;
	composite->awake->counters.control_out++;
	nopal__record(composite, NOPAL_TRACED_TRANSMIT, UINT8_MAX, segment->kind, segment->number,
		      0);
}

/* Control is not kept for a busy kernel: whoever needs it repeats it. */
void nopal_control_send(struct nopal_session *session, struct nopal_segment *segment,
			uint32_t length)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_down *down = nopal__down(composite);

	nopal__control_note(composite, segment, length);
	if (down->control)
		down->control(composite, segment);
	else
		down->push(composite, segment);
	nopal__segment_free(composite, segment);
}

void nopal_control_send_by(struct nopal_session *session, struct nopal_segment *segment,
			   uint32_t length, unsigned path)
{
	struct nopal_composite *composite = nopal__composite(session);

	if (!composite->down->control_by) {
		nopal_control_send(session, segment, length);
		return;
	}
	nopal__control_note(composite, segment, length);
	composite->down->control_by(composite, segment, path);
	nopal__segment_free(composite, segment);
}
