/* SPDX-License-Identifier: MIT */
/*
 * tag_matching -- deliver the messages that the application asks for, by tag.
 *
 * A message has a tag, and is delivered when a receive that the application posted matches it:
 * their tags are equal where the receive's mask is set.  A message gets the oldest receive that
 * matches it, a receive the oldest message.  What arrives unexpected waits, and so does a receive
 * that finds nothing.
 *
 *   posted:     tag 7 (a), any tag (b)
 *   arrives:    3, 7, 7          3 goes to b; the first 7 goes to a; 7 waits
 *
 * Messages are matched when nobody else holds them: where somebody has the role order, in the order
 * of sending, whatever the order of arrival, and that is MPI's rule.  The order does not wait for a
 * receive: what nobody asked for does not keep back what was sent after it.
 *
 * A waiting message is unread: flow control counts it, and the sender waits before the bounds here
 * are reached.  An application that asks for messages behind a window full of others waits for
 * ever, as with any buffer.  Without flow control the session breaks at `unexpected`: a message
 * that the peer was told has arrived is not dropped.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section VII: matching in the manner of
 *            MPI, among the work that is to come.
 * Differs:   is a microprotocol, so that it goes with any order or none; one
 *            session is one source, so that a receive names no sender.
 */
#include <errno.h>
#include <string.h>

#include <nopal/microprotocol.h>

enum { TAG_MATCHING_TAG, TAG_MATCHING_RECEIVE, TAG_MATCHING_FIRST };
enum {
	TAG_MATCHING_WIRE_BYTES = 4,
	TAG_MATCHING_MIN_ROOM = 16, /* items, at first */
};

struct tag_matching_parameters {
	int64_t unexpected, posted;
};

/* A message or a receive that waits.  Lists are by place in one pool, which may move: whoever
 * delivers finds his items anew. */
struct tag_matching_item {
	uint64_t tag;
	union {
		struct { /* of a receive */
			uint64_t mask, cookie;
		};
		struct {		/* of a message */
			uint64_t first; /* its place in the order; 0: none */
			struct nopal_handle message;
		};
	};
	uint32_t before, behind; /* 0: nobody */
};

struct tag_matching_list {
	uint32_t first, last, count;
};

struct tag_matching {
	struct tag_matching_item *pool;	     /* place 0 is nobody's */
	uint32_t room, spare;		     /* spare: the first free place */
	struct tag_matching_list coming;     /* others hold them; by `first` */
	struct tag_matching_list unexpected; /* no receive matched yet */
	struct tag_matching_list due;	     /* matched, and delivered next */
	struct tag_matching_list posted;
	bool delivers;
};

/* -------------------------------------------------------------------- lists */

/* A free place; the pool grows where there is none.  0: there is no memory. */
static uint32_t tag_matching_take(struct nopal_session *session, struct tag_matching *self)
{
	uint32_t room = self->room ? 2 * self->room : TAG_MATCHING_MIN_ROOM, place;

	if (!self->spare) {
		struct tag_matching_item *pool = nopal_alloc(session, room * sizeof(*pool));

		if (!pool)
			return 0;
		if (self->room)
			memcpy(pool, self->pool, self->room * sizeof(*pool));
		for (place = room - 1; place && place >= self->room; place--) {
			pool[place].behind = self->spare;
			self->spare = place;
		}
		nopal_free(session, self->pool);
		self->pool = pool;
		self->room = room;
	}
	place = self->spare;
	self->spare = self->pool[place].behind;
	return place;
}

/* Puts an item behind another one; behind 0 is first. */
static void tag_matching_link(struct tag_matching *self, struct tag_matching_list *list,
			      uint32_t before, uint32_t place)
{
	uint32_t *behind = before ? &self->pool[before].behind : &list->first;
	struct tag_matching_item *item = &self->pool[place];

	item->before = before;
	item->behind = *behind;
	*(item->behind ? &self->pool[item->behind].before : &list->last) = place;
	*behind = place;
	list->count++;
}

static void tag_matching_unlink(struct tag_matching *self, struct tag_matching_list *list,
				uint32_t place)
{
	const struct tag_matching_item *item = &self->pool[place];

	*(item->before ? &self->pool[item->before].behind : &list->first) = item->behind;
	*(item->behind ? &self->pool[item->behind].before : &list->last) = item->before;
	list->count--;
}

/* Takes it off its list for good. */
static void tag_matching_drop(struct tag_matching *self, struct tag_matching_list *list,
			      uint32_t place)
{
	tag_matching_unlink(self, list, place);
	self->pool[place].behind = self->spare;
	self->spare = place;
}

/* ----------------------------------------------------------------- matching */

/* A delivery may post receives that match: these wait here for their turn, and deliveries do not
 * nest. */
static void tag_matching_deliver(struct nopal_at at)
{
	struct tag_matching *self = nopal_state(at);

	if (self->delivers)
		return;
	self->delivers = true;
	while (self->due.first) {
		uint32_t place = self->due.first;
		struct nopal_message *message =
			nopal_message_find(at.session, self->pool[place].message);

		tag_matching_drop(self, &self->due, place);
		if (message)
			nopal_message_release(at, message);
	}
	self->delivers = false;
}

/* The message at this place of a list has its receive. */
static void tag_matching_pair(struct nopal_at at, struct tag_matching *self,
			      struct tag_matching_list *list, uint32_t place,
			      struct nopal_message *message, uint64_t cookie)
{
	nopal_set(at, message, TAG_MATCHING_RECEIVE, cookie);
	tag_matching_unlink(self, list, place);
	tag_matching_link(self, &self->due, self->due.last, place);
}

/* Matches the messages that others have let go, each with the oldest receive that takes its tag.
 * They are let go in order, so a message that is held keeps back only others that are held, too. */
static void tag_matching_settle(struct nopal_at at)
{
	const struct tag_matching_parameters *set = nopal_parameters(at);
	struct tag_matching *self = nopal_state(at);

	while (self->coming.first) {
		uint32_t place = self->coming.first, receive = self->posted.first;
		struct nopal_message *message =
			nopal_message_find(at.session, self->pool[place].message);

		if (message && message->waiting & ~nopal_hold_bit(at, NOPAL_DELIVER))
			return;
		while (receive &&
		       (self->pool[receive].tag ^ self->pool[place].tag) & self->pool[receive].mask)
			receive = self->pool[receive].behind;
		if (!message) { /* it was discarded: too late for its order */
			tag_matching_drop(self, &self->coming, place);
		} else if (receive) {
			tag_matching_pair(at, self, &self->coming, place, message,
					  self->pool[receive].cookie);
			tag_matching_drop(self, &self->posted, receive);
			tag_matching_deliver(at);
		} else if (self->unexpected.count < set->unexpected) {
			tag_matching_unlink(self, &self->coming, place);
			tag_matching_link(self, &self->unexpected, self->unexpected.last, place);
		} else {
			tag_matching_drop(self, &self->coming, place);
			nopal_session_break(at.session, NOPAL_RESOURCE,
					    "too many messages wait for a receive");
		}
	}
}

/* ----------------------------------------------------------------- handlers */

static enum nopal_verdict tag_matching_on_from_user(struct nopal_at at,
						    struct nopal_message *message)
{
	if (nopal_get(at, message, TAG_MATCHING_TAG) <= UINT32_MAX) /* it travels */
		return NOPAL_CONTINUE;
	nopal_message_refuse(at.session, message, -ERANGE);
	return NOPAL_STOP;
}

/* The message goes among those that others hold, in its place: most often the last. */
static enum nopal_verdict tag_matching_on_from_net(struct nopal_at at,
						   struct nopal_message *message)
{
	struct tag_matching *self = nopal_state(at);
	uint64_t first = nopal_get(at, message, TAG_MATCHING_FIRST);
	uint32_t place = 0, before = self->coming.last;

	if (message->delivered) /* out of band: past any receive, too */
		nopal_message_release(at, message);
	else if (!(place = tag_matching_take(at.session, self)))
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no memory for a message that waits for a receive");
	if (place) {
		self->pool[place].tag = nopal_get(at, message, TAG_MATCHING_TAG);
		self->pool[place].first = first;
		self->pool[place].message = message->handle;
		while (before && self->pool[before].first > first)
			before = self->pool[before].before;
		tag_matching_link(self, &self->coming, before, place);
	}
	tag_matching_settle(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict tag_matching_on_gave_up(struct nopal_at at, struct nopal_forward *forward)
{
	(void)forward;
	tag_matching_settle(at);
	return NOPAL_CONTINUE;
}

/* The peer closed, or a timer of the order let messages go. */
static enum nopal_verdict tag_matching_on_session(struct nopal_at at, struct nopal_session *subject)
{
	(void)subject;
	tag_matching_settle(at);
	return NOPAL_CONTINUE;
}

/* Pairs a receive with the oldest unexpected message that it takes; false: there is none. */
static bool tag_matching_unexpected(struct nopal_at at, const struct nopal_receive *receive)
{
	struct tag_matching *self = nopal_state(at);
	uint32_t place = self->unexpected.first, behind;

	for (; place; place = behind) {
		const struct tag_matching_item *item = &self->pool[place];
		struct nopal_message *message;

		behind = item->behind;
		if ((item->tag ^ receive->tag) & receive->mask)
			continue;
		message = nopal_message_find(at.session, item->message);
		if (message) {
			tag_matching_pair(at, self, &self->unexpected, place, message,
					  receive->cookie);
			return true;
		}
		tag_matching_drop(self, &self->unexpected, place);
	}
	return false;
}

static enum nopal_verdict tag_matching_on_posted(struct nopal_at at, struct nopal_receive *receive)
{
	const struct tag_matching_parameters *set = nopal_parameters(at);
	struct tag_matching *self = nopal_state(at);
	uint32_t place = 0;

	if (tag_matching_unexpected(at, receive)) {
		tag_matching_deliver(at);
		return NOPAL_CONTINUE;
	}
	receive->refused = (receive->tag & receive->mask) > UINT32_MAX ? -ERANGE : -ENOBUFS;
	if (receive->refused == -ENOBUFS && self->posted.count < set->posted)
		place = tag_matching_take(at.session, self);
	if (!place)
		return NOPAL_CONTINUE;
	receive->refused = 0;
	self->pool[place].tag = receive->tag;
	self->pool[place].mask = receive->mask;
	self->pool[place].cookie = receive->cookie;
	tag_matching_link(self, &self->posted, self->posted.last, place);
	return NOPAL_CONTINUE;
}

static void tag_matching_idle(struct nopal_at at)
{
	struct tag_matching *self = nopal_state(at);

	if (self->coming.count || self->unexpected.count || self->posted.count || self->due.count)
		return;
	nopal_free(at.session, self->pool);
	self->pool = NULL;
	self->room = self->spare = 0;
}

/* --------------------------------------------------------------- descriptor */

static const struct nopal_attribute tag_matching_attributes[] = {
	[TAG_MATCHING_TAG] = { "tag", NOPAL_PROPERTY, "the tag that receives match",
			       .wire_bytes = TAG_MATCHING_WIRE_BYTES, .kinds = NOPAL_DATA },
	[TAG_MATCHING_RECEIVE] = { "receive", NOPAL_PROPERTY, "cookie of the receive that got it" },
	[TAG_MATCHING_FIRST] = { "order_first", NOPAL_READ_OPTIONAL },
	{ 0 },
};

const struct nopal_microprotocol nopal_tag_matching = {
	NOPAL_DESCRIBE(tag_matching, ordering,
		       "deliver the messages that the application asks for, by tag"),
	.provides = NOPAL_ROLES({ "tag_matching", true }),
	.needs = NOPAL_RELATIONS({ "application", "nobody else posts receives" }),
	.excludes = NOPAL_RELATIONS(
		{ "coalesce", "a segment has the tag of its first message only" },
		{ "partial_order", "it waits for deliveries, and these wait for receives" },
		{ "jitter", "a message has one time: its own, or that of its receive" }),
	.promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_TIMING, NOPAL_LOWERS, NOPAL_BY_TAG,
				     "a message waits until its tag is asked for" },
				   { NOPAL_PROGRESS, NOPAL_TIMING, NOPAL_LOWERS, 0,
				     "a message whose tag nobody asks for waits", .of = "tag" }),
	.parameters_size = sizeof(struct tag_matching_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(tag_matching, unexpected, "unexpected", COUNT, "4096", "1", "1048576",
			     "messages that may wait for a receive"),
		NOPAL_NUMBER(tag_matching, posted, "posted", COUNT, "4096", "1", "1048576",
			     "receives that may wait for a message")),
	.attributes = tag_matching_attributes,
	.holds = NOPAL_HOLDS({ "a posted receive matches", NOPAL_DELIVER, NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		/* Behind the parts that know which messages are late or out of band; before flow
		 * control, which tells at the end of the turn which messages were consumed in
		 * it. */
		NOPAL_ON(MSG_FROM_USER, tag_matching_on_from_user, .before = "message_segments"),
		NOPAL_ON(MSG_FROM_NET, tag_matching_on_from_net,
			 .after = "order|out_of_band|flow_control"),
		NOPAL_ON(FORWARD_RECEIVED, tag_matching_on_gave_up, .after = "order"),
		NOPAL_ON(PEER_CLOSED, tag_matching_on_session, .after = "order"),
		NOPAL_ON(TURN_END, tag_matching_on_session, .before = "flow_control"),
		NOPAL_ON(RECEIVE_POSTED, tag_matching_on_posted)),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct tag_matching),
	.idle = tag_matching_idle,
};
