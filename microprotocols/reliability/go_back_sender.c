/* SPDX-License-Identifier: MIT */
/*
 * go_back_sender.c -- go_back_n where it sends data: which segments may leave, how long to wait for
 * an acknowledgement, and what leaves again.
 *
 *        cumulative ack = sent.base       sent.end
 *   .....|1 1 1 1 1 1 1 1 1 1 1 |. . .        1: outstanding
 *        |<-------- window ----------->|
 */
#include "go_back_n.h"

/* ------------------------------------------------------------------ leaving */

static bool go_back_sender_in_window(struct nopal_at at, const struct go_back_n *self,
				     const struct nopal_segment *segment)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);

	return nopal_get(at, segment, GO_BACK_N_NUMBER) < self->cumulative + (uint64_t)set->window;
}

/* Nothing is urgent: what overtakes is discarded. */
enum nopal_verdict nopal__go_back_sender_on_to_net(struct nopal_at at,
						   struct nopal_segment *segment)
{
	struct go_back_n *self = nopal_state(at);

	segment->urgent = false;
	if (!self->waiting.count && go_back_sender_in_window(at, self, segment))
		nopal_release(at, segment, NOPAL_SEND);
	else if (nopal_queue_push(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room for a segment that waits");
	return NOPAL_CONTINUE;
}

/* A resend that another microprotocol asks for is in the window, and leaves. */
enum nopal_verdict nopal__go_back_sender_on_resend(struct nopal_at at,
						   struct nopal_segment *segment)
{
	const struct go_back_n *self = nopal_state(at);

	if (!self->asking)
		nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------------- waiting */

static int64_t go_back_sender_wait(struct nopal_at at)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	const struct go_back_n *self = nopal_state(at);
	int64_t measured_ns = nopal_shared_get(at, GO_BACK_N_TIMEOUT);
	int64_t doublings = self->vain < set->backoff ? self->vain : set->backoff;

	return (measured_ns ? measured_ns : set->timeout_ns) << doublings;
}

static void go_back_sender_watch(struct nopal_at at, int64_t due_ns)
{
	struct go_back_n *self = nopal_state(at);

	self->due_ns = due_ns;
	nopal_timer_start(at, GO_BACK_N_TIMED_OUT, due_ns);
}

/* When the oldest will have waited too long; NOPAL_NEVER: nothing is outstanding. One that waits to
 * leave has not begun to. */
static int64_t go_back_sender_deadline(struct nopal_at at)
{
	const struct go_back_n *self = nopal_state(at);
	const struct nopal_segment *oldest =
		outstanding_find(at.session, &self->sent, self->sent.base);
	int64_t since_ns;

	if (!oldest)
		return NOPAL_NEVER;
	since_ns = oldest->wanted ? at.session->now_ns : oldest->transmitted_ns;
	if (since_ns < self->moved_ns)
		since_ns = self->moved_ns;
	return since_ns + go_back_sender_wait(at);
}

enum nopal_verdict nopal__go_back_sender_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	struct go_back_n *self = nopal_state(at);
	int64_t due_ns = at.session->now_ns + go_back_sender_wait(at);

	if (segment->transmissions == 1)
		outstanding_track(at.session, &self->sent, nopal_get(at, segment, GO_BACK_N_NUMBER),
				  segment);
	if (set->piggyback) {
		nopal_set(at, segment, GO_BACK_N_CUMULATIVE, self->next);
		self->owed = false;
	}
	if (!nopal_timer_running(at, GO_BACK_N_TIMED_OUT) || due_ns < self->due_ns)
		go_back_sender_watch(at, due_ns);
	return NOPAL_CONTINUE;
}

/* ----------------------------------------------------------------- going back */

/* Open transmissions are off the network: the one that is timed out or lost, and all after it,
 * which the peer discards.  The status of all is settled before the first asks to leave: gates
 * count segments on their way. */
static void go_back_sender_back(struct nopal_at at, uint64_t from, bool timed_out)
{
	struct go_back_n *self = nopal_state(at);
	struct nopal_segment *segment;

	for (uint64_t number = from; number < self->sent.end; number++) {
		const struct nopal_transmission *last = NULL;

		segment = outstanding_find(at.session, &self->sent, number);
		if (segment)
			last = nopal_transmission_find(at.session, segment->packet_number);
		if (!last || !last->open)
			continue;
		nopal_segment_settle(at.session, segment);
		if (timed_out)
			nopal_raise_SEGMENT_TIMEOUT(at.session, segment);
		else
			nopal_raise_SEGMENT_LOST(at.session, segment);
	}
	self->asking = true;
	for (uint64_t number = from; number < self->sent.end; number++) {
		segment = outstanding_find(at.session, &self->sent, number);
		if (segment)
			nopal_segment_resend(at, segment);
	}
	self->asking = false;
	self->lost = false;
	self->moved_ns = at.session->now_ns;
}

/* The timer is not moved with every transmission; it looks when it fires. */
void nopal__go_back_sender_when_timed_out(struct nopal_at at)
{
	const struct go_back_n_parameters *set = nopal_parameters(at);
	struct go_back_n *self = nopal_state(at);
	int64_t deadline_ns = go_back_sender_deadline(at);

	if (deadline_ns <= at.session->now_ns) {
		if (++self->vain >= set->attempts) {
			nopal_session_break(at.session, NOPAL_GAVE_UP,
					    "the peer fell silent: a segment used up its attempts");
			return;
		}
		go_back_sender_back(at, self->sent.base, true);
		deadline_ns = go_back_sender_deadline(at);
	}
	if (deadline_ns != NOPAL_NEVER)
		go_back_sender_watch(at, deadline_ns);
}

enum nopal_verdict nopal__go_back_sender_on_lost(struct nopal_at at, struct nopal_segment *segment)
{
	struct go_back_n *self = nopal_state(at);
	uint64_t number = nopal_get(at, segment, GO_BACK_N_NUMBER);

	if (!self->lost || number < self->back)
		self->back = number;
	self->lost = true;
	return NOPAL_CONTINUE;
}

/* Goes back, and fills the window, before gates look at the segments that wait. */
enum nopal_verdict nopal__go_back_sender_on_turn_end(struct nopal_at at,
						     struct nopal_session *subject)
{
	struct go_back_n *self = nopal_state(at);
	struct nopal_segment *segment;

	(void)subject;
	if (self->lost)
		go_back_sender_back(at, self->back, false);
	while (self->waiting.count && (segment = nopal_queue_first(at.session, &self->waiting)) &&
	       go_back_sender_in_window(at, self, segment)) {
		nopal_queue_pop(&self->waiting);
		nopal_release(at, segment, NOPAL_SEND);
	}
	return NOPAL_CONTINUE;
}

/* -------------------------------------------------------------- acknowledged */

enum nopal_verdict nopal__go_back_sender_on_settled(struct nopal_at at,
						    struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_DONE);
	nopal_release(at, segment, NOPAL_DEALLOCATE);
	return NOPAL_CONTINUE;
}

/* The segment below the cumulative ack came last.  Which of its transmissions it was shows only
 * where there was one.  The order of raises is part of the contract of the role acknowledgement. */
static void go_back_sender_process(struct nopal_at at, uint64_t cumulative)
{
	struct go_back_n *self = nopal_state(at);
	const struct nopal_segment *last =
		outstanding_find(at.session, &self->sent, cumulative - 1);
	struct nopal_ack ack = {
		.cumulative = cumulative,
		.largest = self->largest,
		.largest_sent_ns = -1,
	};

	if (last && (!self->reported || last->packet_number > self->largest)) {
		if (last->transmissions == 1)
			ack.largest_sent_ns = last->transmitted_ns;
		ack.largest = last->packet_number;
		ack.largest_is_new = true;
		self->largest = ack.largest;
		self->reported = true;
	}
	nopal_raise_ACK_FROM_NET(at.session, &ack);
	while (self->sent.base < cumulative) {
		uint64_t number = self->sent.base;
		struct nopal_segment *segment = outstanding_find(at.session, &self->sent, number);

		outstanding_take(&self->sent, number);
		if (!segment)
			continue;
		segment->outcome = NOPAL_OUTCOME_DELIVERED;
		nopal_segment_settle(at.session, segment);
		ack.newly_acked_segments++;
		ack.newly_acked_bytes += segment->body.length;
		nopal_raise_SEGMENT_RECEIVED(at.session, segment);
	}
	self->cumulative = cumulative;
	self->vain = 0;
	self->moved_ns = at.session->now_ns;
	if (outstanding_is_open(&self->sent, cumulative))
		ack.cumulative_segment = outstanding_at(&self->sent, cumulative);
	nopal_raise_ACK_PROCESSED(at.session, &ack);
}

/* From one past the cumulative ack to one past what has left: everything else is outside of the
 * window, late or forged, and ignored. */
void nopal__go_back_sender_take_cumulative(struct nopal_at at, uint64_t wire)
{
	const struct go_back_n *self = nopal_state(at);
	uint32_t ahead = (uint32_t)wire - (uint32_t)self->cumulative;
	int64_t deadline_ns;

	if (!ahead || ahead > self->sent.end - self->cumulative)
		return;
	go_back_sender_process(at, self->cumulative + ahead);
	deadline_ns = go_back_sender_deadline(at);
	if (deadline_ns < self->due_ns)
		go_back_sender_watch(at, deadline_ns);
}

enum nopal_verdict nopal__go_back_sender_on_ack(struct nopal_at at, struct nopal_segment *segment)
{
	nopal__go_back_sender_take_cumulative(at,
					      nopal_get(at, segment, GO_BACK_N_CUMULATIVE_ALONE));
	return NOPAL_STOP;
}
