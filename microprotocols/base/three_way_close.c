/* SPDX-License-Identifier: MIT */
/*
 * three_way_close.c -- how three_way sends, and where it closes: the FINs, and what acknowledges
 * them.
 */
#include "three_way.h"

void nopal__three_way_send(struct nopal_session *session, const struct nopal_part *part,
			   unsigned kind, uint64_t number, uint64_t floor, uint32_t mss)
{
	uint32_t length = mss ? THREE_WAY_MSS_BYTES : 0;
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(session, part, kind, length, &writer);

	if (!segment)
		return;
	if (mss)
		nopal_write(&writer, mss, THREE_WAY_MSS_BYTES);
	nopal_set(segment, part, THREE_WAY_NUMBER, number);
	nopal_set(segment, part, THREE_WAY_FLOOR, floor);
	nopal_control_send(session, segment, length);
}

void nopal__three_way_send_ack(struct nopal_session *session, const struct nopal_part *part)
{
	const struct three_way *self = nopal_state(session, part);

	nopal__three_way_send(session, part, THREE_WAY_ACK, self->next + self->closing, self->floor,
			      0);
}

/* Once the peer has closed too, it only lingers: no back-off then. */
static void three_way_repeat_closing(struct nopal_session *session, const struct nopal_part *part)
{
	const struct three_way_parameters *set = nopal_parameters(part);
	struct three_way *self = nopal_state(session, part);
	int64_t wait_ns = set->retry_ns;

	self->closing_sends++;
	if (self->close_acked)
		wait_ns = set->retry_most_ns;
	else if (!self->peer_closed)
		wait_ns = three_way_wait(set, self->closing_sends);
	nopal__three_way_send(session, part, THREE_WAY_FIN, self->next, self->floor, 0);
	nopal_timer_start(session, part, THREE_WAY_CLOSING, session->now_ns + wait_ns);
}

void nopal__three_way_when_closing(struct nopal_session *session, const struct nopal_part *part)
{
	const struct three_way_parameters *set = nopal_parameters(part);
	struct three_way *self = nopal_state(session, part);

	if (self->closing_sends < set->attempts)
		three_way_repeat_closing(session, part);
	else if (self->peer_closed)
		nopal_session_closed(session);
	else
		nopal_session_break(session, NOPAL_PEER_LOST, "no answer to the FIN");
}

void nopal__three_way_when_lingered(struct nopal_session *session, const struct nopal_part *part)
{
	(void)part;
	nopal_session_closed(session);
}

enum nopal_verdict nopal__three_way_on_close_session(struct nopal_session *session,
						     const struct nopal_part *part,
						     struct nopal_session *subject)
{
	struct three_way *self = nopal_state(session, part);

	(void)subject;
	self->closing = true;
	self->told = self->peer_closed;
	nopal_timer_stop(session, part, THREE_WAY_SILENCE);
	three_way_repeat_closing(session, part);
	return NOPAL_CONTINUE;
}

/* Both have closed, and ours is acknowledged.  Whether the peer knows that we have its FIN shows
 * where every one of ours said so. */
static void three_way_both_closed(struct nopal_session *session, const struct nopal_part *part)
{
	const struct three_way_parameters *set = nopal_parameters(part);
	const struct three_way *self = nopal_state(session, part);

	nopal_timer_stop(session, part, THREE_WAY_CLOSING);
	if (self->told)
		nopal_session_closed(session);
	else
		nopal_timer_start(session, part, THREE_WAY_LINGER,
				  session->now_ns + set->linger_ns);
}

void nopal__three_way_acked(struct nopal_session *session, const struct nopal_part *part)
{
	struct three_way *self = nopal_state(session, part);
	bool first = !self->close_acked;

	self->close_acked = true;
	self->closing_sends = 0;
	if (first && self->peer_closed)
		three_way_both_closed(session, part);
}

/* The last of its data, and it comes when we have them all. */
enum nopal_verdict nopal__three_way_on_fin(struct nopal_session *session,
					   const struct nopal_part *part,
					   struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(session, part);
	bool first = !self->peer_closed;

	if (!three_way_is(nopal_get(segment, part, THREE_WAY_NUMBER),
			  self->floor - self->peer_closed))
		return NOPAL_STOP;
	self->peer_closed = true;
	self->floor += first;
	nopal__three_way_send_ack(session, part);
	if (first)
		nopal_session_peer_closed(session);
	if (self->close_acked)
		three_way_both_closed(session, part);
	return NOPAL_STOP;
}
