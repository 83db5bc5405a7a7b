/* SPDX-License-Identifier: MIT */
/*
 * queue.c -- segments that wait: in the order of coming (push), or the oldest first (insert), so
 * that gates which grant the same segments agree.  Urgent ones are before all others, the first
 * time that they leave.
 *
 * A ring of handles with a power of two of places: what was freed while it waited is found out when
 * it comes to the front.
 *
 * Gates that all transmissions pass have three such queues, lanes, and one rule.  A segment asks
 * all gates at once, and each has to let it go.  A gate that gave what it has (window, credit, the
 * peer's room) to a segment has it again when that left and arrived; so what was let go must never
 * wait behind what was not:
 *   - the oldest first, for it is what the peer waits for: resends by age before
 *     first transmissions;
 *   - but for what is urgent, the first time that it leaves.  Its resends go by
 *     age, and behind first transmissions that are older: where acks tell no more than
 *     how far all has arrived, it is not known to be there before those are, and
 *     first in each resend it would keep them from leaving for ever;
 *   - what another gate keeps back stops its own lane alone: flow control lets go
 *     by age, too, but of what is urgent sooner or later than of the rest;
 *   - gates that pace go last, and in a row: the rate gives credit to what all
 *     others but the window let go, and the window lets the first leave that all
 *     others let go, wherever it stands in its lane.
 */
#include <errno.h>

#include "engine/ring.h"
#include "plan/fused.h"

enum {
	QUEUE_AHEAD = 2, /* segments that are fetched before their turn */
};

static struct nopal_handle *queue_place(const struct nopal_queue *queue, uint32_t place)
{
	return &queue->ring[(queue->head + place) & (queue->room - 1)];
}

static bool queue_is_urgent(const struct nopal_segment *segment)
{
	return segment->urgent && segment->transmissions == 0;
}

static int queue_make_room(struct nopal_session *session, struct nopal_queue *queue)
{
	if (queue->count < queue->room || nopal__ring_grow(session, &queue->ring, &queue->head,
							   &queue->room, sizeof(*queue->ring)))
		return 0;
	return -ENOMEM;
}

int nopal_queue_append(struct nopal_session *session, struct nopal_queue *queue,
		       const struct nopal_segment *segment)
{
	int error = queue_make_room(session, queue);

	if (!error)
		*queue_place(queue, queue->count++) = segment->handle;
	return error;
}

NOPAL_HOT int nopal_queue_push(struct nopal_session *session, struct nopal_queue *queue,
			       const struct nopal_segment *segment)
{
	uint32_t place = 0;
	int error;

	if (!queue_is_urgent(segment))
		return nopal_queue_append(session, queue, segment);
	error = queue_make_room(session, queue);
	if (error)
		return error;
	/* Urgent ones are few and at the front: they move up by one place, and it comes behind. */
	queue->head = (queue->head - 1) & (queue->room - 1);
	queue->count++;
	for (; place + 1 < queue->count; place++) {
		struct nopal_handle next = *queue_place(queue, place + 1);
		const struct nopal_segment *other = nopal_segment_find(session, next);

		if (other && !queue_is_urgent(other))
			break;
		*queue_place(queue, place) = next;
	}
	*queue_place(queue, place) = segment->handle;
	return 0;
}

static bool queue_is_older(struct nopal_session *session, const struct nopal_segment *segment,
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
	int error = queue_make_room(session, queue);

	if (error)
		return error;
	queue->count++;
	for (; place > 0 && queue_is_older(session, segment, *queue_place(queue, place - 1));
	     place--)
		*queue_place(queue, place) = *queue_place(queue, place - 1);
	*queue_place(queue, place) = segment->handle;
	return 0;
}

NOPAL_HOT struct nopal_segment *nopal_queue_first(struct nopal_session *session,
						  struct nopal_queue *queue)
{
	while (queue->count) {
		struct nopal_segment *segment = nopal_segment_find(session, *queue_place(queue, 0));

		if (segment) {
			if (queue->count > QUEUE_AHEAD)
				nopal_segment_prefetch(session, *queue_place(queue, QUEUE_AHEAD));
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

struct nopal_segment *nopal_queue_at(struct nopal_session *session, const struct nopal_queue *queue,
				     uint32_t place)
{
	return nopal_segment_find(session, *queue_place(queue, place));
}

void nopal_queue_remove(struct nopal_queue *queue, uint32_t place)
{
	for (; place + 1 < queue->count; place++)
		*queue_place(queue, place) = *queue_place(queue, place + 1);
	queue->count--;
}

void nopal_queue_idle(struct nopal_session *session, struct nopal_queue *queue)
{
	if (queue->count)
		return;
	nopal_free(session, queue->ring);
	*queue = (struct nopal_queue){ 0 };
}

int nopal_lanes_insert(struct nopal_session *session, struct nopal_lanes *lanes,
		       const struct nopal_segment *segment)
{
	enum nopal_lane first = segment->urgent ? NOPAL_LANE_URGENT : NOPAL_LANE_FIRST;
	enum nopal_lane lane = segment->transmissions ? NOPAL_LANE_AGAIN : first;

	return nopal_queue_insert(session, &lanes->lane[lane], segment);
}

static struct nopal_segment *lane_first(struct nopal_at at, struct nopal_lanes *lanes,
					const struct nopal_lane_turn *turn, enum nopal_lane lane)
{
	struct nopal_queue *queue = &lanes->lane[lane];
	struct nopal_segment *segment;

	if (turn->passed[lane])
		return NULL;
	while (queue->count && (segment = nopal_queue_first(at.session, queue)) != NULL) {
		if (!segment->done && nopal_holds(at, segment, NOPAL_SEND))
			return segment;
		nopal_queue_pop(queue);
	}
	return NULL;
}

NOPAL_HOT struct nopal_segment *nopal_lanes_next(struct nopal_at at, struct nopal_lanes *lanes,
						 struct nopal_lane_turn *turn)
{
	struct nopal_segment *again = lane_first(at, lanes, turn, NOPAL_LANE_AGAIN);
	struct nopal_segment *urgent = lane_first(at, lanes, turn, NOPAL_LANE_URGENT);
	struct nopal_segment *first = lane_first(at, lanes, turn, NOPAL_LANE_FIRST);
	bool older = again && first && (int32_t)(first->number - again->number) < 0;

	if (again && !older) {
		turn->lane = NOPAL_LANE_AGAIN;
		return again;
	}
	turn->lane = urgent ? NOPAL_LANE_URGENT : NOPAL_LANE_FIRST;
	return urgent ? urgent : first;
}

NOPAL_HOT void nopal_lanes_take(struct nopal_lanes *lanes, const struct nopal_lane_turn *turn)
{
	nopal_queue_pop(&lanes->lane[turn->lane]);
}

void nopal_lanes_pass(struct nopal_lane_turn *turn)
{
	turn->passed[turn->lane] = true;
}

void nopal_lanes_idle(struct nopal_session *session, struct nopal_lanes *lanes)
{
	for (unsigned i = 0; i < NOPAL_LANES; i++)
		nopal_queue_idle(session, &lanes->lane[i]);
}
