/* SPDX-License-Identifier: MIT */
/*
 * reliable_fifo -- deliver every message in the order of sending.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E.
 * Differs:   takes the order from message numbers, else from segment numbers;
 *            bounds how many messages may wait, and breaks the session rather than
 *            drop a message that the peer was told has arrived.  Messages that the
 *            peer gave up are skipped, and nothing is waited for once it has closed.
 *            Among many, a message for one alone has no place in the order.
 */
#include <stdlib.h>

#include <nopal/microprotocol.h>

struct reliable_fifo_parameters {
	int64_t waiting;
};

enum { /* attributes */
       RELIABLE_FIFO_FIRST,
       RELIABLE_FIFO_NEXT,
       RELIABLE_FIFO_DESTINATION,
};
enum { RELIABLE_FIFO_INITIAL_PEER }; /* shared variables */

struct reliable_fifo {
	uint64_t expected;	  /* number of the next message to deliver */
	struct nopal_map waiting; /* arrived early, by their first number */
};

/* The expected number moves before the message does: a delivery may come back to this session. */
static void reliable_fifo_deliver(struct nopal_at at, struct nopal_message *message)
{
	struct reliable_fifo *self = nopal_state(at);

	self->expected = nopal_get(at, message, RELIABLE_FIFO_NEXT);
	nopal_message_release(at, message);
}

static void reliable_fifo_deliver_waiting(struct nopal_at at)
{
	struct reliable_fifo *self = nopal_state(at);

	while (self->waiting.used) {
		uint64_t ticket = (uintptr_t)nopal_map_take(&self->waiting, self->expected);
		struct nopal_handle handle = { .index = (uint32_t)(ticket >> 32),
					       .generation = (uint32_t)ticket };
		struct nopal_message *message;

		if (!ticket)
			break;
		message = nopal_message_find(at.session, handle);
		if (message)
			reliable_fifo_deliver(at, message);
		else /* it was discarded, as a jitter buffer may */
			self->expected++;
	}
}

static int reliable_fifo_by_number(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* No other message below `end` will come: those that wait for one are delivered in order, and those
 * that follow them. */
static void reliable_fifo_skip(struct nopal_at at, uint64_t end)
{
	struct reliable_fifo *self = nopal_state(at);
	uint64_t *numbers = NULL;
	uint32_t count = 0;

	if (self->waiting.used)
		numbers = nopal_alloc(at.session, self->waiting.used * sizeof(*numbers));
	for (uint32_t i = 0; numbers && i < self->waiting.room; i++)
		if (self->waiting.slots[i].value && self->waiting.slots[i].key < end)
			numbers[count++] = self->waiting.slots[i].key;
	if (numbers)
		qsort(numbers, count, sizeof(*numbers), reliable_fifo_by_number);
	for (uint32_t i = 0; i < count; i++) {
		if (self->expected < numbers[i])
			self->expected = numbers[i];
		reliable_fifo_deliver_waiting(at);
	}
	nopal_free(at.session, numbers);
	if (end != UINT64_MAX && self->expected < end)
		self->expected = end;
	reliable_fifo_deliver_waiting(at);
}

static enum nopal_verdict reliable_fifo_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct reliable_fifo *self = nopal_state(at);

	(void)subject;
	self->expected = (uint64_t)nopal_shared_get(at, RELIABLE_FIFO_INITIAL_PEER);
	return NOPAL_CONTINUE;
}

/* A message that covers no number, or numbers that others covered before, has no place in the
 * order: it is a duplicate or was made up.  The map's value is the message's handle; never NULL,
 * for a living generation is odd. */
static enum nopal_verdict reliable_fifo_on_msg_from_net(struct nopal_at at,
							struct nopal_message *message)
{
	const struct reliable_fifo_parameters *set = nopal_parameters(at);
	struct reliable_fifo *self = nopal_state(at);
	uint64_t first = nopal_get(at, message, RELIABLE_FIFO_FIRST);
	uintptr_t ticket = (uint64_t)message->handle.index << 32 | message->handle.generation;

	_Static_assert(sizeof(ticket) >= sizeof(struct nopal_handle),
		       "a pointer has room for a handle");
	if (!first && nopal_has(at, RELIABLE_FIFO_DESTINATION)) {
		nopal_message_release(at, message);
		return NOPAL_CONTINUE;
	}
	if (first < self->expected || nopal_get(at, message, RELIABLE_FIFO_NEXT) <= first ||
	    nopal_map_get(&self->waiting, first)) {
		nopal_message_discard(at.session, message);
		return NOPAL_STOP;
	}
	if (first == self->expected) {
		reliable_fifo_deliver(at, message);
		reliable_fifo_deliver_waiting(at);
	} else if (self->waiting.used >= set->waiting ||
		   nopal_map_put(at.session, &self->waiting, first, (void *)ticket) < 0) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "too many messages wait for a predecessor");
	}
	return NOPAL_CONTINUE;
}

static enum nopal_verdict reliable_fifo_on_gave_up(struct nopal_at at,
						   struct nopal_forward *forward)
{
	reliable_fifo_skip(at, forward->order);
	return NOPAL_CONTINUE;
}

/* Each message of the peer's has arrived, or was given up. */
static enum nopal_verdict reliable_fifo_on_peer_closed(struct nopal_at at,
						       struct nopal_session *subject)
{
	(void)subject;
	reliable_fifo_skip(at, UINT64_MAX);
	return NOPAL_CONTINUE;
}

static void reliable_fifo_idle(struct nopal_at at)
{
	struct reliable_fifo *self = nopal_state(at);

	nopal_map_idle(at.session, &self->waiting);
}

const struct nopal_microprotocol nopal_reliable_fifo = {
	NOPAL_DESCRIBE(reliable_fifo, ordering, "deliver every message in the order of sending"),
	.many = true,
	.provides = NOPAL_ROLES({ "order", true }, { "reliable_order" }),
	.standard = "order",
	.needs = NOPAL_RELATIONS(
		{ "message_numbers|segment_numbers", "numbers say which message comes next" }),
	.promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AS_SENT,
				     "a message waits for all its predecessors" },
				   { NOPAL_PROGRESS, NOPAL_ORDERING, NOPAL_LOWERS, 0,
				     "a message waits for predecessors that nobody sends again",
				     .unless = NOPAL_DELIVERY, .unless_has = NOPAL_ALL,
				     .without = "partial_reliability" },
				   { NOPAL_PROGRESS, NOPAL_ORDERING, NOPAL_LOWERS, 0,
				     "a message waits for predecessors that a layer below gave up",
				     .without = "reliability", .amid_partial = true },
				   { NOPAL_DELIVERY, NOPAL_ORDERING, NOPAL_LOWERS, 0,
				     "a message waits for predecessors that a layer below gave up",
				     .without = "reliability", .amid_partial = true }),
	.parameters_size = sizeof(struct reliable_fifo_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_NUMBER(reliable_fifo, waiting, "waiting", COUNT,
						    "65536", "1", "1048576",
						    "messages that may wait for predecessors")),
	.attributes = NOPAL_ATTRIBUTES([RELIABLE_FIFO_FIRST] = { "order_first", NOPAL_READ },
				       [RELIABLE_FIFO_NEXT] = { "order_next", NOPAL_READ },
				       [RELIABLE_FIFO_DESTINATION] = { "destination",
								       NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED([RELIABLE_FIFO_INITIAL_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL,
								1, "number of the first message" }),
	.holds = NOPAL_HOLDS({ "all predecessors were delivered", NOPAL_DELIVER, NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SESSION_OPENED, reliable_fifo_on_opened),
				   NOPAL_ON(MSG_FROM_NET, reliable_fifo_on_msg_from_net),
				   NOPAL_ON(FORWARD_RECEIVED, reliable_fifo_on_gave_up),
				   NOPAL_ON(PEER_CLOSED, reliable_fifo_on_peer_closed)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct reliable_fifo),
	.idle = reliable_fifo_idle,
};
