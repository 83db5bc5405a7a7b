/* SPDX-License-Identifier: MIT */
/*
 * three_way_close.c -- how three_way sends, and how it closes: the FINs and their acknowledgements.
 */
#include "three_way.h"

void nopal__three_way_send(struct nopal_at at, unsigned kind, uint64_t number, uint64_t cumulative,
			   uint32_t mss)
{
	uint32_t length = mss ? THREE_WAY_MSS_BYTES : 0;
	struct nopal_writer writer;
	struct nopal_segment *segment = nopal_control_begin(at, kind, length, &writer);

	if (!segment)
		return;
	if (mss)
		nopal_write(&writer, mss, THREE_WAY_MSS_BYTES);
	nopal_set(at, segment, THREE_WAY_NUMBER, number);
	nopal_set(at, segment, THREE_WAY_CUMULATIVE, cumulative);
	nopal_control_send(at.session, segment, length);
}

void nopal__three_way_send_ack(struct nopal_at at)
{
	const struct three_way *self = nopal_state(at);

	nopal__three_way_send(at, THREE_WAY_ACK, self->next + self->closing.ours, self->cumulative,
			      0);
}

static void three_way_repeat_closing(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	struct three_way *self = nopal_state(at);
	int64_t wait_ns = closing_wait(&self->closing, &set->retries);

	nopal__three_way_send(at, THREE_WAY_FIN, self->next, self->cumulative, 0);
	nopal_timer_start(at, THREE_WAY_CLOSING, at.session->now_ns + wait_ns);
}

void nopal__three_way_when_closing(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	const struct three_way *self = nopal_state(at);

	if (closing_goes_on(at.session, &self->closing, &set->retries, "no answer to the FIN"))
		three_way_repeat_closing(at);
}

void nopal__three_way_when_lingered(struct nopal_at at)
{
	nopal_session_closed(at.session);
}

enum nopal_verdict nopal__three_way_on_close_session(struct nopal_at at,
						     struct nopal_session *subject)
{
	struct three_way *self = nopal_state(at);

	(void)subject;
	self->closing.ours = true;
	self->told = self->closing.theirs;
	nopal_timer_stop(at, THREE_WAY_SILENCE);
	three_way_repeat_closing(at);
	return NOPAL_CONTINUE;
}

/* Both have closed, and ours is acknowledged.  Whether the peer knows that we have its FIN shows
 * where every one of ours said so. */
static void three_way_both_closed(struct nopal_at at)
{
	const struct three_way_parameters *set = nopal_parameters(at);
	const struct three_way *self = nopal_state(at);

	nopal_timer_stop(at, THREE_WAY_CLOSING);
	if (self->told)
		nopal_session_closed(at.session);
	else
		nopal_timer_start(at, THREE_WAY_LINGER,
				  at.session->now_ns + set->retries.linger_ns);
}

void nopal__three_way_acked(struct nopal_at at)
{
	struct three_way *self = nopal_state(at);
	bool first = !self->closing.acked;

	self->closing.acked = true;
	self->closing.sends = 0;
	if (first && self->closing.theirs)
		three_way_both_closed(at);
}

/* A FIN behind the last of the peer's data, all of which have arrived. */
enum nopal_verdict nopal__three_way_on_fin(struct nopal_at at, struct nopal_segment *segment)
{
	struct three_way *self = nopal_state(at);
	bool first = !self->closing.theirs;

	if (!three_way_is(nopal_get(at, segment, THREE_WAY_NUMBER),
			  self->cumulative - self->closing.theirs))
		return NOPAL_STOP;
	self->closing.theirs = true;
	self->cumulative += first;
	nopal__three_way_send_ack(at);
	if (first)
		nopal_session_peer_closed(at.session);
	if (self->closing.acked)
		three_way_both_closed(at);
	return NOPAL_STOP;
}
