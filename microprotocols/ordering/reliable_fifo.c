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
#include "turns.h"

struct reliable_fifo_parameters {
	int64_t waiting;
};

enum { /* attributes */
       RELIABLE_FIFO_FIRST,
       RELIABLE_FIFO_NEXT,
       RELIABLE_FIFO_DESTINATION,
};
enum { RELIABLE_FIFO_INITIAL_PEER }; /* shared variables */

static enum nopal_verdict reliable_fifo_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct turns *turns = nopal_state(at);

	(void)subject;
	turns->expected = (uint64_t)nopal_shared_get(at, RELIABLE_FIFO_INITIAL_PEER);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict reliable_fifo_on_msg_from_net(struct nopal_at at,
							struct nopal_message *message)
{
	const struct reliable_fifo_parameters *set = nopal_parameters(at);
	uint64_t first = nopal_get(at, message, RELIABLE_FIFO_FIRST);

	if (!first && nopal_has(at, RELIABLE_FIFO_DESTINATION)) {
		nopal_message_release(at, message);
		return NOPAL_CONTINUE;
	}
	return turns_arrive(at, nopal_state(at), RELIABLE_FIFO_NEXT, message, first, set->waiting)
		       ? NOPAL_CONTINUE
		       : NOPAL_STOP;
}

static enum nopal_verdict reliable_fifo_on_gave_up(struct nopal_at at,
						   struct nopal_forward *forward)
{
	turns_skip(at, nopal_state(at), RELIABLE_FIFO_NEXT, forward->order);
	return NOPAL_CONTINUE;
}

/* Each message of the peer's has arrived, or was given up. */
static enum nopal_verdict reliable_fifo_on_peer_closed(struct nopal_at at,
						       struct nopal_session *subject)
{
	(void)subject;
	turns_skip(at, nopal_state(at), RELIABLE_FIFO_NEXT, UINT64_MAX);
	return NOPAL_CONTINUE;
}

static void reliable_fifo_idle(struct nopal_at at)
{
	struct turns *turns = nopal_state(at);

	nopal_map_idle(at.session, &turns->waiting);
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
	.state_size = sizeof(struct turns),
	.idle = reliable_fifo_idle,
};
