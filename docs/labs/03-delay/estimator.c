/* SPDX-License-Identifier: MIT */
/* estimator -- round-trip estimate, the timeout by it, and its timer */
#include <nopal/microprotocol.h>

enum { ESTIMATOR_TIMEOUT }; /* its shared variables */
enum { ESTIMATOR_DUE };	    /* its timers */

#define ESTIMATOR_FIRST_NS (500 * NOPAL_MILLISECOND) /* the timeout before there is a sample */

struct estimator {
	struct nopal_handle away; /* the segment that the timer is for */
};

/* Task 1. `segment` leaves now, for the first time or again.
 * nopal_timer_start(at, ESTIMATOR_DUE, when_ns) replaces a timer that runs; now is
 * at.session->now_ns, and the timeout is nopal_shared_get(at, ESTIMATOR_TIMEOUT). */
static enum nopal_verdict estimator_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	struct estimator *self = nopal_state(at);

	self->away = segment->handle;
	return NOPAL_CONTINUE;
}

/* Tasks 1 and 2. The peer has acknowledged `segment`, which left segment->transmissions times, last
 * at segment->transmitted_ns.  nopal_timer_stop(at, ESTIMATOR_DUE) stops the timer;
 * nopal_shared_set(at, ESTIMATOR_TIMEOUT, ns) sets the timeout. */
static enum nopal_verdict estimator_on_received(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Tasks 1 and 3. The timer came before the ack.  SEGMENT_TIMEOUT makes `retransmit` send the segment
 * again at this instant. */
static void estimator_when_due(struct nopal_at at)
{
	struct estimator *self = nopal_state(at);
	struct nopal_segment *segment = nopal_segment_find(at.session, self->away);

	if (!segment)
		return;
	nopal_segment_settle(at.session, segment);
	nopal_raise_SEGMENT_TIMEOUT(at.session, segment);
}

/* A session begins; the state is all zeros before. */
static int estimator_open(struct nopal_at at)
{
	nopal_shared_set(at, ESTIMATOR_TIMEOUT, ESTIMATOR_FIRST_NS);
	return 0;
}

const struct nopal_microprotocol nopal_estimator = {
	NOPAL_DESCRIBE(estimator, labs, "round-trip estimate, the timeout by it, and its timer"),
	.provides = NOPAL_ROLES({ "rtt", true }, { "retransmission_timer", true }),
	.needs = NOPAL_RELATIONS(
		{ "acknowledgement", "acks are its samples, and end its waits", NULL }),
	.shared = NOPAL_SHARED([ESTIMATOR_TIMEOUT] = { "timeout_ns", NOPAL_WRITE, 0,
						       "longest wait for an ack" }),
	.timers = NOPAL_TIMERS([ESTIMATOR_DUE] = { "due", estimator_when_due }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEND_SEGMENT, estimator_on_send),
				   NOPAL_ON(SEGMENT_RECEIVED, estimator_on_received)),
	.raises = NOPAL_RAISES("SEGMENT_TIMEOUT"),
	.state_size = sizeof(struct estimator),
	.open = estimator_open,
};
