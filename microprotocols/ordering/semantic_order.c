/* SPDX-License-Identifier: MIT */
/*
 * semantic_order -- deliver a message after those that it says it follows.
 *
 * The application gives a message a label, and names the labels of up to four predecessors; one of
 * them may be sent later.  The receiver delivers a message in the turn in which the last of its
 * predecessors was delivered, or at once: it waits for no other message.
 *
 *   sent:      1    2 after 1    3    4 after 2, 3
 *   arrives:   2, 3, 1, 4        2 waits for 1; 3 goes at once; 4 goes at once
 *   delivered: 3, 1, 2, 4
 *
 * Where a predecessor does not come, a message is delivered after `delay` (`patience` where lost
 * segments are resent), behind those of its predecessors that have come and wait themselves.  Where
 * the peer gave messages up, a message waits only `delay` more when all that was sent before it is
 * settled.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E.
 * Differs:   names at most four predecessors; refuses a label that is in use
 *            (EEXIST), and predecessors that would wait for the message itself
 *            (ELOOP); every wait is bounded, and ends when the peer closes.
 */
#include "labels.h"

struct semantic_order_parameters {
	int64_t travels[LABEL_AFTER]; /* the first one always does */
	int64_t labels, delay_ns, patience_ns, waiting;
};

/* attributes */
enum {
	SEMANTIC_ORDER_LABEL,
	SEMANTIC_ORDER_AFTER, /* and those behind it */
	SEMANTIC_ORDER_AFTER_2,
	SEMANTIC_ORDER_AFTER_3,
	SEMANTIC_ORDER_AFTER_4,
	SEMANTIC_ORDER_SEGMENT,
};
enum { SEMANTIC_ORDER_UNMET, SEMANTIC_ORDER_FLOOR }; /* shared variables */
enum { SEMANTIC_ORDER_TIMED_OUT };		     /* timers */
enum {
	SEMANTIC_ORDER_WIRE_BYTES = 4,
	/* The receiver remembers so many times the labels that a sender may name: messages overtake
	 * each other. */
	SEMANTIC_ORDER_MEMORY = 2,
};

struct semantic_order {
	struct label_graph sent;
	struct label_waiters arrived;
	bool busy;     /* it delivers: a delivery that comes back leaves the lists alone */
	bool gave_up;  /* the peer gave a message up */
	bool look;     /* at the waiters: there is another, or */
	int64_t floor; /* this has moved */
};

/* No message can wait for one without a label. */
static enum nopal_verdict semantic_order_on_from_user(struct nopal_at at,
						      struct nopal_message *message)
{
	const struct semantic_order_parameters *set = nopal_parameters(at);
	struct semantic_order *self = nopal_state(at);
	uint64_t label = nopal_get(at, message, SEMANTIC_ORDER_LABEL);
	uint64_t after[LABEL_AFTER];
	int error = label > UINT32_MAX ? -EINVAL : 0;

	for (unsigned i = 0; i < LABEL_AFTER; i++) {
		after[i] = nopal_get(at, message, SEMANTIC_ORDER_AFTER + i);
		if (after[i] > UINT32_MAX || (after[i] && i && !set->travels[i]))
			error = -EINVAL;
	}
	if (!error && label)
		error = label_graph_send(at.session, &self->sent, (uint32_t)set->labels, label,
					 after);
	if (!error)
		return NOPAL_CONTINUE;
	nopal_message_refuse(at.session, message, error);
	return NOPAL_STOP;
}

/* ------------------------------------------------------------------ delivering */

/* The record is free before the message goes: a delivery may come back to this session. */
static void semantic_order_deliver(struct nopal_at at, struct label_waiter *waiter)
{
	struct semantic_order *self = nopal_state(at);
	struct nopal_message *message = nopal_message_find(at.session, waiter->message);

	label_waiter_remove(at.session, &self->arrived, waiter);
	if (message)
		nopal_message_release(at, message);
}

static void semantic_order_drain(struct nopal_at at)
{
	struct semantic_order *self = nopal_state(at);
	struct label_waiter *waiter;
	bool busy = self->busy;

	self->busy = true;
	while (!busy && (waiter = self->arrived.ready)) {
		self->arrived.ready = waiter->after_it;
		semantic_order_deliver(at, waiter);
	}
	self->busy = busy;
}

/* The oldest has waited long enough; the predecessors that have come, and wait themselves, go
 * before it.  A stack through the waiters: the last one asked for is on top.  None is ready here:
 * the list of the ready ones and the stack share a link. */
static void semantic_order_give_up(struct nopal_at at)
{
	struct semantic_order *self = nopal_state(at);
	struct label_waiter *top = self->arrived.oldest, *waiter;

	self->busy = true;
	top->asked = true;
	top->after_it = NULL;
	while (top) {
		struct label_waiter *lacked = label_lacked(&self->arrived, top);

		if (lacked) {
			lacked->asked = true;
			lacked->after_it = top;
			top = lacked;
			continue;
		}
		waiter = top;
		top = top->after_it;
		semantic_order_deliver(at, waiter);
		self->busy = false;
		semantic_order_drain(at);
		self->busy = true;
	}
	self->busy = false;
}

/* Until none is left that was due at `until_ns`.  The ready ones go first: others may have
 * delivered their predecessors in this turn. */
static void semantic_order_give_up_due(struct nopal_at at, int64_t until_ns)
{
	struct semantic_order *self = nopal_state(at);

	semantic_order_drain(at);
	while (!self->busy && self->arrived.oldest && self->arrived.oldest->due_ns <= until_ns)
		semantic_order_give_up(at);
}

static void semantic_order_watch(struct nopal_at at)
{
	const struct semantic_order *self = nopal_state(at);

	if (self->arrived.oldest)
		nopal_timer_start(at, SEMANTIC_ORDER_TIMED_OUT, self->arrived.oldest->due_ns);
}

static void semantic_order_when_timed_out(struct nopal_at at)
{
	semantic_order_give_up_due(at, at.session->now_ns);
	semantic_order_watch(at);
}

/* --------------------------------------------------------------------- arriving */

static bool semantic_order_is_free(struct nopal_at at, const struct nopal_message *message)
{
	const struct semantic_order *self = nopal_state(at);

	for (unsigned i = 0; i < LABEL_AFTER; i++) {
		uint64_t label = nopal_get(at, message, SEMANTIC_ORDER_AFTER + i);

		if (label && !label_is_known(&self->arrived, label))
			return false;
	}
	return true;
}

/* Keeps a message, with the labels that it lacks; false: over budget. */
static bool semantic_order_keep(struct nopal_at at, const struct nopal_message *message)
{
	const struct semantic_order_parameters *set = nopal_parameters(at);
	struct semantic_order *self = nopal_state(at);
	bool unmet = nopal_shared_get(at, SEMANTIC_ORDER_UNMET) != 0;
	struct label_waiter *waiter;

	waiter = label_waiter_new(at.session, &self->arrived, message->handle,
				  nopal_get(at, message, SEMANTIC_ORDER_LABEL));
	if (!waiter)
		return false;
	for (unsigned i = 0; i < LABEL_AFTER; i++) {
		uint64_t label = nopal_get(at, message, SEMANTIC_ORDER_AFTER + i);
		bool known = !label || label_is_known(&self->arrived, label);

		for (unsigned j = 0; j < waiter->lacks; j++)
			known |= waiter->link[j].label == label;
		if (!known && !label_link_add(at.session, &self->arrived, waiter, label))
			return false;
	}
	if (nopal_has(at, SEMANTIC_ORDER_SEGMENT))
		waiter->number = nopal_get(at, message, SEMANTIC_ORDER_SEGMENT);
	self->look = true;
	waiter->due_ns = at.session->now_ns + (unmet ? set->patience_ns : set->delay_ns);
	if (!nopal_timer_running(at, SEMANTIC_ORDER_TIMED_OUT))
		semantic_order_watch(at);
	return true;
}

static enum nopal_verdict semantic_order_on_from_net(struct nopal_at at,
						     struct nopal_message *message)
{
	const struct semantic_order_parameters *set = nopal_parameters(at);
	const struct semantic_order *self = nopal_state(at);
	bool is_free = message->delivered || semantic_order_is_free(at, message);

	if (!is_free) { /* the messages that go now may be all that it waits for */
		semantic_order_drain(at);
		if (self->arrived.count >= set->waiting && !self->busy)
			semantic_order_give_up(at); /* the oldest makes room */
		is_free = semantic_order_is_free(at, message);
	}
	if (is_free) {
		nopal_message_release(at, message);
		semantic_order_drain(at);
		return NOPAL_CONTINUE;
	}
	if (semantic_order_keep(at, message))
		return NOPAL_CONTINUE;
	nopal_session_break(at.session, NOPAL_RESOURCE,
			    "no room for a message that waits for others");
	return NOPAL_STOP;
}

/* The application gets the message next; those that wait for it go after that. */
static enum nopal_verdict semantic_order_on_to_user(struct nopal_at at,
						    struct nopal_message *message)
{
	const struct semantic_order_parameters *set = nopal_parameters(at);
	struct semantic_order *self = nopal_state(at);
	uint64_t label = nopal_get(at, message, SEMANTIC_ORDER_LABEL);

	if (!label)
		return NOPAL_CONTINUE;
	if (!label_learn(at.session, &self->arrived, SEMANTIC_ORDER_MEMORY * (uint32_t)set->labels,
			 label))
		nopal_session_break(at.session, NOPAL_RESOURCE, "no room to remember a label");
	label_wake(&self->arrived, label);
	return NOPAL_CONTINUE;
}

/* Delivers the messages that others made ready in this turn.  Once all that was sent before a
 * waiter is settled, its predecessors that were sent before it have come or were given up; those
 * still to be sent have `delay` left to come. */
static enum nopal_verdict semantic_order_on_turn_end(struct nopal_at at,
						     struct nopal_session *subject)
{
	const struct semantic_order_parameters *set = nopal_parameters(at);
	struct semantic_order *self = nopal_state(at);
	int64_t floor = nopal_shared_get(at, SEMANTIC_ORDER_FLOOR);
	int64_t due_ns = at.session->now_ns + set->delay_ns;
	struct label_waiter *waiter, *newer;

	(void)subject;
	semantic_order_drain(at);
	self->look |= floor != self->floor;
	if (!self->gave_up || !self->look || self->busy)
		return NOPAL_CONTINUE;
	self->look = false;
	self->floor = floor;
	waiter = self->arrived.hurried;
	waiter = waiter ? waiter->newer : self->arrived.oldest;
	for (; waiter; waiter = newer) {
		newer = waiter->newer;
		if (!waiter->number || waiter->number >= (uint64_t)self->floor)
			continue;
		if (waiter->due_ns > due_ns)
			waiter->due_ns = due_ns;
		/* From among those that wait by age to the end of those that are hurried. */
		label_list_remove(&self->arrived, waiter);
		label_list_add(&self->arrived, waiter, self->arrived.hurried);
		self->arrived.hurried = waiter;
	}
	semantic_order_watch(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict semantic_order_on_gave_up(struct nopal_at at,
						    struct nopal_forward *forward)
{
	struct semantic_order *self = nopal_state(at);

	(void)forward;
	self->gave_up = self->look = true;
	return NOPAL_CONTINUE;
}

static enum nopal_verdict semantic_order_on_peer_closed(struct nopal_at at,
							struct nopal_session *subject)
{
	(void)subject;
	semantic_order_give_up_due(at, NOPAL_NEVER);
	return NOPAL_CONTINUE;
}

static void semantic_order_idle(struct nopal_at at)
{
	struct semantic_order *self = nopal_state(at);
	struct label_waiters *arrived = &self->arrived;

	nopal_map_idle(at.session, &arrived->lacking);
	nopal_map_idle(at.session, &arrived->waiting);
	while (arrived->free) {
		struct label_waiter *waiter = arrived->free;

		arrived->free = waiter->newer;
		nopal_free(at.session, waiter);
	}
}

static const struct nopal_parameter semantic_order_parameters[] = {
	NOPAL_ON_OFF(semantic_order, travels[1], "after_2", "on", "a second predecessor travels",
		     .wire = true),
	NOPAL_ON_OFF(semantic_order, travels[2], "after_3", "off", "a third one", .wire = true),
	NOPAL_ON_OFF(semantic_order, travels[3], "after_4", "off", "a fourth one", .wire = true),
	NOPAL_NUMBER(semantic_order, labels, "labels", COUNT, "1024", "16", "65536",
		     "sent labels that are remembered; a message may name none that is older",
		     .wire = true),
	NOPAL_NUMBER(semantic_order, delay_ns, "delay", TIME, "100ms", "0ms", "5s",
		     "how long a message waits where nobody resends"),
	NOPAL_NUMBER(semantic_order, patience_ns, "patience", TIME, "30s", "1ms", "1h",
		     "the same where somebody does", .waits = NOPAL_WAITS_LONGEST),
	NOPAL_NUMBER(semantic_order, waiting, "waiting", COUNT, "1024", "1", "65536",
		     "messages that may wait"),
	{ 0 },
};

#define SEMANTIC_ORDER_PREDECESSOR(key, ...)                                                       \
	{                                                                                          \
		key, NOPAL_PROPERTY, "label of a message that goes before; 0: of none",            \
			.wire_bytes = SEMANTIC_ORDER_WIRE_BYTES, .kinds = NOPAL_DATA, __VA_ARGS__  \
	}

const struct nopal_microprotocol nopal_semantic_order = {
	NOPAL_DESCRIBE(semantic_order, ordering,
		       "deliver a message after those that it says it follows"),
	.provides = NOPAL_ROLES({ "partial_order", true }),
	.needs = NOPAL_RELATIONS(
		{ "application",
		  "several segments of an upper layer have the label of one message" }),
	.excludes = NOPAL_RELATIONS(
		{ "order", "it relates all messages already" },
		{ "coalesce", "a segment has the labels of its first message only" }),
	.promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_ORDERING, NOPAL_GIVES, NOPAL_AFTER_NAMED,
				     "a message waits for those that it names, up to a bound",
				     .bound = "patience", .where = NOPAL_DELIVERY,
				     .where_has = NOPAL_ALL },
				   { NOPAL_ORDER, NOPAL_ORDERING, NOPAL_LOWERS, 0,
				     "a predecessor may have been given up below",
				     .without = "reliability", .amid_partial = true },
				   { NOPAL_ORDER, NOPAL_ORDERING, NOPAL_LOWERS, NOPAL_AFTER_NAMED,
				     "a message that waits is overtaken by those that do not" }),
	.parameters_size = sizeof(struct semantic_order_parameters),
	.parameters = semantic_order_parameters,
	.attributes = NOPAL_ATTRIBUTES(
		[SEMANTIC_ORDER_LABEL] = { "label", NOPAL_PROPERTY,
					   "by which others name it, 32 bits; 0: nobody does",
					   .wire_bytes = SEMANTIC_ORDER_WIRE_BYTES,
					   .kinds = NOPAL_DATA },
		[SEMANTIC_ORDER_AFTER] = SEMANTIC_ORDER_PREDECESSOR("after"),
		[SEMANTIC_ORDER_AFTER_2] = SEMANTIC_ORDER_PREDECESSOR("after_2", .when = "after_2"),
		[SEMANTIC_ORDER_AFTER_3] = SEMANTIC_ORDER_PREDECESSOR("after_3", .when = "after_3"),
		[SEMANTIC_ORDER_AFTER_4] = SEMANTIC_ORDER_PREDECESSOR("after_4", .when = "after_4"),
		[SEMANTIC_ORDER_SEGMENT] = { "segment_number", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED([SEMANTIC_ORDER_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL,
							  0, "1: missing segments will come" },
			       [SEMANTIC_ORDER_FLOOR] = { "segment_floor", NOPAL_READ_OPTIONAL, 0,
							  "segments below it are settled" }),
	.holds =
		NOPAL_HOLDS({ "the named predecessors were delivered", NOPAL_DELIVER, NOPAL_DATA }),
	.timers = NOPAL_TIMERS([SEMANTIC_ORDER_TIMED_OUT] = { "timed_out",
							      semantic_order_when_timed_out }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_FROM_USER, semantic_order_on_from_user,
					    .before = "message_segments|message_numbers"),
				   NOPAL_ON(MSG_FROM_NET, semantic_order_on_from_net),
				   NOPAL_ON(MSG_TO_USER, semantic_order_on_to_user),
				   NOPAL_ON(FORWARD_RECEIVED, semantic_order_on_gave_up),
				   NOPAL_ON(PEER_CLOSED, semantic_order_on_peer_closed),
				   NOPAL_ON(TURN_END, semantic_order_on_turn_end)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct semantic_order),
	.idle = semantic_order_idle,
};
