/* SPDX-License-Identifier: MIT */
/*
 * forward_point.c -- the point of partial_reliability: told until the peer's cumulative ack has
 * passed it, and heard.
 */
#include "../flow/flow_number.h"
#include "partial_reliability.h"

/* The least time to tell again, as the granularity of timers in RFC 9002, section
 * 6.1.2: a round trip may be shorter than the peer's own turn. */
static const int64_t FORWARD_POINT_MIN_NS = NOPAL_MILLISECOND;

/* --------------------------------------------------------------- telling it */

/* The place in the order of the first message that is not settled; what is given up of a message is
 * given up of all of it. */
static uint64_t forward_point_order(struct nopal_at at)
{
	const struct partial_reliability *self = nopal_state(at);
	const struct nopal_segment *segment = NULL;

	if (self->open.base < self->open.end)
		segment = nopal_segment_find(at.session,
					     outstanding_at(&self->open, self->open.base));
	if (!segment)
		return self->order_end;
	return nopal_get(at, segment,
			 nopal_has(at, PARTIAL_RELIABILITY_MESSAGE) ? PARTIAL_RELIABILITY_MESSAGE
								    : PARTIAL_RELIABILITY_FIRST);
}

/* Tells the point, and again unless the peer's cumulative ack moves in time. */
static void forward_point_tell(struct nopal_at at)
{
	struct partial_reliability *self = nopal_state(at);
	int64_t rtt_ns = nopal_shared_get(at, PARTIAL_RELIABILITY_RTT);
	int64_t wait_ns = nopal_shared_get(at, PARTIAL_RELIABILITY_TIMEOUT);
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, PARTIAL_RELIABILITY_FORWARD,
							    PARTIAL_RELIABILITY_BYTES, &writer);

	self->told = self->open.base;
	nopal_shared_set(at, PARTIAL_RELIABILITY_FORWARD_POINT, (int64_t)self->told);
	if (rtt_ns)
		wait_ns = rtt_ns + rtt_ns / PARTIAL_RELIABILITY_MARGIN;
	if (wait_ns < FORWARD_POINT_MIN_NS)
		wait_ns = FORWARD_POINT_MIN_NS;
	nopal_timer_start(at, PARTIAL_RELIABILITY_AGAIN,
			  at.session->now_ns + (wait_ns << self->repeats));
	if (!segment)
		return;
	nopal_write(&writer, (uint32_t)self->told, PARTIAL_RELIABILITY_NUMBER_BYTES);
	nopal_write(&writer, (uint32_t)forward_point_order(at), PARTIAL_RELIABILITY_NUMBER_BYTES);
	nopal_control_send(at.session, segment, PARTIAL_RELIABILITY_BYTES);
}

/* Where all is settled beyond the peer's cumulative ack, some segments were given up: the peer
 * moves its cumulative ack over all that arrived. */
enum nopal_verdict nopal__forward_point_on_turn_end(struct nopal_at at,
						    struct nopal_session *subject)
{
	struct partial_reliability *self = nopal_state(at);

	(void)subject;
	if (self->open.base <= self->cumulative || self->open.base == self->told)
		return NOPAL_CONTINUE;
	self->repeats = 0;
	forward_point_tell(at);
	return NOPAL_CONTINUE;
}

void nopal__forward_point_when_again(struct nopal_at at)
{
	struct partial_reliability *self = nopal_state(at);

	if (self->told <= self->cumulative)
		return;
	if (self->repeats < PARTIAL_RELIABILITY_BACKOFF)
		self->repeats++;
	forward_point_tell(at);
}

enum nopal_verdict nopal__forward_point_on_processed(struct nopal_at at, struct nopal_ack *ack)
{
	struct partial_reliability *self = nopal_state(at);

	if (ack->cumulative > self->cumulative)
		self->cumulative = ack->cumulative;
	return NOPAL_CONTINUE;
}

/* --------------------------------------------------------------- hearing it */

/* A point moves on, and not further than the peer can have numbered.  An old one that comes again
 * was not acknowledged. */
enum nopal_verdict nopal__forward_point_on_forward(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct partial_reliability *self = nopal_state(at);
	bool numbered = nopal_has(at, PARTIAL_RELIABILITY_MESSAGE);
	uint64_t near = numbered ? self->highest_message : self->highest;
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t point = flow_number_expand(nopal_read(&reader, PARTIAL_RELIABILITY_NUMBER_BYTES),
					    self->highest);
	uint64_t order =
		flow_number_expand(nopal_read(&reader, PARTIAL_RELIABILITY_NUMBER_BYTES), near);
	struct nopal_forward forward;

	if (!nopal_read_complete(&reader) || point > self->highest + PARTIAL_RELIABILITY_MAX ||
	    order > near + PARTIAL_RELIABILITY_MAX || (!numbered && order > point))
		return NOPAL_STOP;
	if (point > self->point)
		self->point = point;
	if (point > self->highest)
		self->highest = point;
	if (order > self->order)
		self->order = order;
	forward = (struct nopal_forward){ .segment = self->point, .order = self->order };
	nopal_raise_FORWARD_RECEIVED(at.session, &forward);
	return NOPAL_STOP;
}

enum nopal_verdict nopal__forward_point_on_verified(struct nopal_at at,
						    struct nopal_segment *segment)
{
	struct partial_reliability *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, PARTIAL_RELIABILITY_NUMBER);
	uint64_t message = nopal_get(at, segment, PARTIAL_RELIABILITY_MESSAGE);

	if (number >= self->highest)
		self->highest = number + 1;
	if (message >= self->highest_message)
		self->highest_message = message + 1;
	return NOPAL_CONTINUE;
}
