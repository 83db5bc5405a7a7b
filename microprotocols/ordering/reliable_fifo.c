/* SPDX-License-Identifier: MIT */
/*
 * reliable_fifo -- deliver every message in the order of sending.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E.
 * Differs:   takes the order from whichever of message or segment numbers is
 *            there; bounds what may wait, and breaks the session rather than
 *            drop a message that the peer was told has arrived.  What the peer
 *            gave up is skipped, and nothing is waited for once it has closed.
 *            Among many, what is for one alone has no place among what is for all.
 */
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
enum { RELIABLE_FIFO_GAPS = 3 };     /* Knuth, volume 3, 5.2.1 */

struct reliable_fifo {
	uint64_t expected;	  /* number of the next message to deliver */
	struct nopal_map waiting; /* arrived early, by their first number */
};

/* A handle as a map's value; never NULL, for a living generation is odd. */
static void *reliable_fifo_ticket(struct nopal_handle handle)
{
	_Static_assert(sizeof(uintptr_t) >= sizeof(struct nopal_handle),
		       "a pointer has room for a handle");
	return (void *)(uintptr_t)((uint64_t)handle.index << 32 | handle.generation);
}

static struct nopal_handle reliable_fifo_handle(const void *ticket)
{
	uint64_t value = (uintptr_t)ticket;

	return (struct nopal_handle){ .index = (uint32_t)(value >> 32),
				      .generation = (uint32_t)value };
}

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
		void *ticket = nopal_map_take(&self->waiting, self->expected);
		struct nopal_message *message;

		if (!ticket)
			break;
		message = nopal_message_find(at.session, reliable_fifo_handle(ticket));
		if (message)
			reliable_fifo_deliver(at, message);
		else /* it was discarded, as a jitter buffer may */
			self->expected++;
	}
}

/* Shell's sort with Knuth's gaps: what comes from a map has no order to spoil. */
static void reliable_fifo_sort(uint64_t *numbers, uint32_t count)
{
	uint32_t gap = 1;

	while (gap < count / RELIABLE_FIFO_GAPS)
		gap = gap * RELIABLE_FIFO_GAPS + 1;
	for (; gap; gap /= RELIABLE_FIFO_GAPS) {
		for (uint32_t i = gap; i < count; i++) {
			uint64_t number = numbers[i];
			uint32_t at = i;

			for (; at >= gap && numbers[at - gap] > number; at -= gap)
				numbers[at] = numbers[at - gap];
			numbers[at] = number;
		}
	}
}

/* The numbers below `end` that wait, in order; the caller frees.  NULL: none does, or there is no
 * memory. */
static uint64_t *reliable_fifo_numbers(struct nopal_session *session,
				       const struct reliable_fifo *self, uint64_t end,
				       uint32_t *ret_count)
{
	uint64_t *numbers = NULL;
	uint32_t count = 0;

	if (self->waiting.used)
		numbers = nopal_alloc(session, self->waiting.used * sizeof(*numbers));
	for (uint32_t i = 0; numbers && i < self->waiting.room; i++)
		if (self->waiting.slots[i].value && self->waiting.slots[i].key < end)
			numbers[count++] = self->waiting.slots[i].key;
	if (numbers)
		reliable_fifo_sort(numbers, count);
	*ret_count = count;
	return numbers;
}

/* Nothing below `end` will come that has not: what waits for it goes, and what follows. */
static void reliable_fifo_skip(struct nopal_at at, uint64_t end)
{
	struct reliable_fifo *self = nopal_state(at);
	uint32_t count;
	uint64_t *numbers = reliable_fifo_numbers(at.session, self, end, &count);

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

static void reliable_fifo_keep(struct nopal_at at, struct nopal_message *message)
{
	const struct reliable_fifo_parameters *set = nopal_parameters(at);
	struct reliable_fifo *self = nopal_state(at);
	uint64_t first = nopal_get(at, message, RELIABLE_FIFO_FIRST);
	void *ticket = reliable_fifo_ticket(message->handle);

	if (self->waiting.used >= set->waiting ||
	    nopal_map_put(at.session, &self->waiting, first, ticket) < 0)
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "too many messages wait for a predecessor");
}

static enum nopal_verdict reliable_fifo_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct reliable_fifo *self = nopal_state(at);

	(void)subject;
	self->expected = (uint64_t)nopal_shared_get(at, RELIABLE_FIFO_INITIAL_PEER);
	return NOPAL_CONTINUE;
}

/* A message that covers no number, or numbers that others covered before, has no place in the
 * order: it is a duplicate or was made up. */
static enum nopal_verdict reliable_fifo_on_msg_from_net(struct nopal_at at,
							struct nopal_message *message)
{
	struct reliable_fifo *self = nopal_state(at);
	uint64_t first = nopal_get(at, message, RELIABLE_FIFO_FIRST);

	if (!first && nopal_has(at, RELIABLE_FIFO_DESTINATION)) {
		nopal_message_release(at, message);
		return NOPAL_CONTINUE;
	}
	if (first < self->expected || nopal_get(at, message, RELIABLE_FIFO_NEXT) <= first ||
	    nopal_map_get(&self->waiting, first)) {
		nopal_message_discard(at.session, message);
		return NOPAL_STOP;
	}
	if (first != self->expected) {
		reliable_fifo_keep(at, message);
		return NOPAL_CONTINUE;
	}
	reliable_fifo_deliver(at, message);
	reliable_fifo_deliver_waiting(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict reliable_fifo_on_gave_up(struct nopal_at at,
						   struct nopal_forward *forward)
{
	reliable_fifo_skip(at, forward->order);
	return NOPAL_CONTINUE;
}

/* All that the peer sent it knows to have arrived, or gave up. */
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

static const struct nopal_parameter reliable_fifo_parameters[] = {
	NOPAL_NUMBER(reliable_fifo, waiting, "waiting", COUNT, "65536", "1", "1048576",
		     "messages that may wait for predecessors"),
	{ 0 },
};

static const struct nopal_binding reliable_fifo_bindings[] = {
	NOPAL_ON(SESSION_OPENED, reliable_fifo_on_opened),
	NOPAL_ON(MSG_FROM_NET, reliable_fifo_on_msg_from_net),
	NOPAL_ON(FORWARD_RECEIVED, reliable_fifo_on_gave_up),
	NOPAL_ON(PEER_CLOSED, reliable_fifo_on_peer_closed),
	{ 0 },
};

static const struct nopal_attribute reliable_fifo_attributes[] = {
	[RELIABLE_FIFO_FIRST] = { "order_first", NOPAL_READ },
	[RELIABLE_FIFO_NEXT] = { "order_next", NOPAL_READ },
	[RELIABLE_FIFO_DESTINATION] = { "destination", NOPAL_READ_OPTIONAL },
	{ 0 },
};

static const struct nopal_shared reliable_fifo_shared[] = {
	[RELIABLE_FIFO_INITIAL_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
					 "number of the first message" },
	{ 0 },
};

static const struct nopal_promise reliable_fifo_promises[] = {
	{ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AS_SENT,
	  "a message waits for all its predecessors" },
	{ NOPAL_PROGRESS, NOPAL_ORDERING, NOPAL_LOWERS, 0,
	  "a message waits for predecessors that nobody sends again", .unless = NOPAL_DELIVERY,
	  .unless_has = NOPAL_ALL, .without = "partial_reliability" },
	{ NOPAL_PROGRESS, NOPAL_ORDERING, NOPAL_LOWERS, 0,
	  "a message waits for predecessors that a layer below gave up", .without = "reliability",
	  .amid_partial = true },
	{ NOPAL_DELIVERY, NOPAL_ORDERING, NOPAL_LOWERS, 0,
	  "a message waits for predecessors that a layer below gave up", .without = "reliability",
	  .amid_partial = true },
	{ 0 },
};

const struct nopal_microprotocol nopal_reliable_fifo = {
	.abi = NOPAL_ABI,
	.name = "reliable_fifo",
	.family = "ordering",
	.many = true /* what comes from many is for one alone */,
	.summary = "deliver every message in the order of sending",
	.provides = NOPAL_ROLES({ "order", true }, { "reliable_order" }),
	.standard = "order",
	.needs = NOPAL_RELATIONS(
		{ "message_numbers|segment_numbers", "numbers say which message comes next" }),
	.promises = reliable_fifo_promises,
	.parameters_size = sizeof(struct reliable_fifo_parameters),
	.parameters = reliable_fifo_parameters,
	.attributes = reliable_fifo_attributes,
	.shared = reliable_fifo_shared,
	.holds = NOPAL_HOLDS({ "all predecessors were delivered", NOPAL_DELIVER, NOPAL_DATA }),
	.bindings = reliable_fifo_bindings,
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct reliable_fifo),
	.idle = reliable_fifo_idle,
};
