/* SPDX-License-Identifier: MIT */
/*
 * queue.c -- segments that wait: in the order of coming (push), or the oldest
 * first (insert), so that gates which grant the same segments agree.  Urgent ones
 * are before all others, the first time that they leave.
 *
 * A ring of handles with a power of two of places: what was freed while it
 * waited is found out when it comes to the front.
 */
#include <errno.h>

#include "fused.h"

enum {
	QUEUE_FIRST_ROOM = 16,
	QUEUE_AHEAD = 2, /* segments that are fetched before their turn */
};

static struct nopal_handle *queue_at(const struct nopal_queue *queue,
				     uint32_t place)
{
	return &queue->ring[(queue->head + place) & (queue->room - 1)];
}

static int queue_grow(struct nopal_session *session, struct nopal_queue *queue)
{
	struct nopal_handle *ring;
	uint32_t room;

	if (queue->room > UINT32_MAX / 2)
		return -ENOMEM;
	room = queue->room ? queue->room * 2 : QUEUE_FIRST_ROOM;
	ring = nopal_alloc(session, room * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < queue->count; i++)
		ring[i] = *queue_at(queue, i);
	if (queue->ring)
		nopal_free(session, queue->ring);
	queue->ring = ring;
	queue->room = room;
	queue->head = 0;
	return 0;
}

/* Where acks tell no more than how far all has arrived, what overtook is not known
 * to be there before its predecessors are: first in each resend, too, it would keep
 * them from leaving. */
static bool queue_is_urgent(const struct nopal_segment *segment)
{
	return segment->urgent && segment->departures == 0;
}

/* Urgent ones are few and at the front: they move up by one place, and it comes
 * behind them. */
static void queue_put_urgent(struct nopal_session *session,
			     struct nopal_queue *queue,
			     const struct nopal_segment *segment)
{
	uint32_t place = 0;

	queue->head = (queue->head - 1) & (queue->room - 1);
	queue->count++;
	for (; place + 1 < queue->count; place++) {
		struct nopal_handle next = *queue_at(queue, place + 1);
		const struct nopal_segment *other =
			nopal_segment_find(session, next);

		if (other && !queue_is_urgent(other))
			break;
		*queue_at(queue, place) = next;
	}
	*queue_at(queue, place) = segment->handle;
}

NOPAL_HOT int nopal_queue_push(struct nopal_session *session,
			       struct nopal_queue *queue,
			       const struct nopal_segment *segment)
{
	if (queue->count == queue->room) {
		int error = queue_grow(session, queue);

		if (error < 0)
			return error;
	}
	if (queue_is_urgent(segment))
		queue_put_urgent(session, queue, segment);
	else
		*queue_at(queue, queue->count++) = segment->handle;
	return 0;
}

static bool queue_is_older(struct nopal_session *session,
			   const struct nopal_segment *segment,
			   struct nopal_handle than)
{
	const struct nopal_segment *other = nopal_segment_find(session, than);

	if (other && queue_is_urgent(segment) != queue_is_urgent(other))
		return queue_is_urgent(segment);
	return !other || (int32_t)(segment->number - other->number) < 0;
}

int nopal_queue_insert(struct nopal_session *session, struct nopal_queue *queue,
		       const struct nopal_segment *segment)
{
	uint32_t place = queue->count;

	if (queue->count == queue->room) {
		int error = queue_grow(session, queue);

		if (error < 0)
			return error;
	}
	queue->count++;
	for (; place > 0 &&
	       queue_is_older(session, segment, *queue_at(queue, place - 1));
	     place--)
		*queue_at(queue, place) = *queue_at(queue, place - 1);
	*queue_at(queue, place) = segment->handle;
	return 0;
}

NOPAL_HOT struct nopal_segment *nopal_queue_first(struct nopal_session *session,
						  struct nopal_queue *queue)
{
	while (queue->count) {
		struct nopal_segment *segment =
			nopal_segment_find(session, *queue_at(queue, 0));

		if (segment) {
			if (queue->count > QUEUE_AHEAD)
				nopal_segment_prefetch(
					session, *queue_at(queue, QUEUE_AHEAD));
			return segment;
		}
		nopal_queue_pop(queue);
	}
	return NULL;
}

NOPAL_HOT void nopal_queue_pop(struct nopal_queue *queue)
{
	if (!queue->count)
		return;
	queue->head = (queue->head + 1) & (queue->room - 1);
	queue->count--;
}

void nopal_queue_rest(struct nopal_session *session, struct nopal_queue *queue)
{
	if (queue->count)
		return;
	nopal_free(session, queue->ring);
	*queue = (struct nopal_queue){ 0 };
}
