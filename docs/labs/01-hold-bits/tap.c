/* SPDX-License-Identifier: MIT */
/* tap -- count what leaves, and let each segment wait for some time before it leaves first */
#include <nopal/microprotocol.h>

enum { TAP_MESSAGES, TAP_TRANSMISSIONS }; /* its shared variables */
enum { TAP_DUE_NS };			  /* its attributes */
enum { TAP_DUE };			  /* its timers */

struct tap_parameters {
	int64_t delay_ns;
};

struct tap {
	struct nopal_queue waiting; /* segments that this part holds, the oldest first */
};

/* Task 1. The application sent a message: one more in nopal_shared_get(at, TAP_MESSAGES), by
 * nopal_shared_set(at, TAP_MESSAGES, value). */
static enum nopal_verdict tap_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	(void)at, (void)message;
	return NOPAL_CONTINUE;
}

/* Task 1. A data segment leaves now, for the first time or again. */
static enum nopal_verdict tap_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Task 2. A segment wants to leave for the first time.  With a row in NOPAL_HOLDS() this part holds
 * it, until nopal_release(at, segment, NOPAL_SEND).  nopal_queue_push(at.session, &self->waiting,
 * segment) keeps a segment that waits, nopal_set(at, segment, TAP_DUE_NS, ns) notes a time in it, and
 * nopal_timer_start(at, TAP_DUE, ns) starts the timer, where !nopal_timer_running(at, TAP_DUE). */
static enum nopal_verdict tap_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Task 2. The timer's time, at.session->now_ns, has come: nopal_queue_first(at.session,
 * &self->waiting) is the oldest segment, or NULL; nopal_queue_pop(&self->waiting) takes it out. */
static void tap_when_due(struct nopal_at at)
{
	(void)at;
}

const struct nopal_microprotocol nopal_tap = {
	NOPAL_DESCRIBE(tap, labs,
		       "count what leaves, and let each segment wait before it leaves first"),
	.parameters_size = sizeof(struct tap_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(tap, delay_ns, "delay", TIME, "30ms", "1ms",
						    "1s", "how long a segment waits")),
	.attributes = NOPAL_ATTRIBUTES([TAP_DUE_NS] = { "tap_due_ns", NOPAL_WRITE,
							"when the segment may leave" }),
	.shared = NOPAL_SHARED(
		[TAP_MESSAGES] = { "tap_messages", NOPAL_WRITE, 0, "messages that were sent" },
		[TAP_TRANSMISSIONS] = { "tap_transmissions", NOPAL_WRITE, 0,
					"times that a data segment left, resends included" }),
	/* Task 2: .holds = NOPAL_HOLDS({ "its delay has passed", NOPAL_SEND, NOPAL_DATA }), */
	.timers = NOPAL_TIMERS([TAP_DUE] = { "due", tap_when_due }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_FROM_USER, tap_on_from_user),
				   NOPAL_ON(SEND_SEGMENT, tap_on_send),
				   NOPAL_ON(SEGMENT_TO_NET, tap_on_to_net)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct tap),
};
