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

static enum nopal_verdict tap_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	(void)message;
	nopal_shared_set(at, TAP_MESSAGES, nopal_shared_get(at, TAP_MESSAGES) + 1);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict tap_on_send(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	nopal_shared_set(at, TAP_TRANSMISSIONS, nopal_shared_get(at, TAP_TRANSMISSIONS) + 1);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict tap_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	const struct tap_parameters *set = nopal_parameters(at);
	struct tap *self = nopal_state(at);
	int64_t due_ns = at.session->now_ns + set->delay_ns;

	nopal_set(at, segment, TAP_DUE_NS, (uint64_t)due_ns);
	if (nopal_queue_push(at.session, &self->waiting, segment) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room for a segment that waits");
	else if (!nopal_timer_running(at, TAP_DUE))
		nopal_timer_start(at, TAP_DUE, due_ns);
	return NOPAL_CONTINUE;
}

static void tap_when_due(struct nopal_at at)
{
	struct tap *self = nopal_state(at);
	struct nopal_segment *segment;

	while ((segment = nopal_queue_first(at.session, &self->waiting))) {
		int64_t due_ns = (int64_t)nopal_get(at, segment, TAP_DUE_NS);

		if (due_ns > at.session->now_ns) {
			nopal_timer_start(at, TAP_DUE, due_ns);
			break;
		}
		nopal_queue_pop(&self->waiting);
		nopal_release(at, segment, NOPAL_SEND);
	}
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
	.holds = NOPAL_HOLDS({ "its delay has passed", NOPAL_SEND, NOPAL_DATA, .sticky = true }),
	.timers = NOPAL_TIMERS([TAP_DUE] = { "due", tap_when_due }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_FROM_USER, tap_on_from_user),
				   NOPAL_ON(SEND_SEGMENT, tap_on_send),
				   NOPAL_ON(SEGMENT_TO_NET, tap_on_to_net)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct tap),
};
