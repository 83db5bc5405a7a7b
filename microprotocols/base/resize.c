/* SPDX-License-Identifier: MIT */
/*
 * resize -- cut messages into segments, and put them together again.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A.
 * Differs:   the size of a segment is a parameter, not discovered.  Incomplete
 *            messages are bounded in number and, where nobody resends, in age.
 *            Above many destinations only messages for all are cut.
 * Wire:      fragment: bit 15, last of its message; bits 0 to 14, its place in the message.
 */
#include "one_body.h"
#include "reassembly.h"

struct resize_parameters {
	int64_t mtu_bytes; /* the runtime reads it */
	int64_t partial;
	int64_t reassembly_timeout_ns;
};

/* attributes */
enum {
	RESIZE_FRAGMENT,
	RESIZE_MESSAGE,
	RESIZE_SEGMENT,
	RESIZE_FIRST,
	RESIZE_NEXT,
	RESIZE_DESTINATION,
};
enum { RESIZE_UNMET };	/* shared variables */
enum { RESIZE_EXPIRE }; /* timers */

enum {
	RESIZE_WIRE_BYTES = 2,
	RESIZE_LAST = 1 << 15,
	RESIZE_INDEX = RESIZE_LAST - 1,
	RESIZE_FRAGMENTS = RESIZE_LAST, /* of one message at most */
	RESIZE_UNCUT = 1 << 30,		/* bytes that one segment may have */
};

/* Among many destinations, a message for one alone has no part in a common numbering that would
 * bring its pieces together: the layer below cuts it. */
static enum nopal_verdict resize_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	bool whole = nopal_has(at, RESIZE_DESTINATION) && nopal_is_for_one(at.session, message) &&
		     message->length <= RESIZE_UNCUT;
	uint32_t limit = whole ? (uint32_t)message->length : nopal_body_limit(at.session);
	uint64_t from = 0;
	bool good;

	if (whole && !limit)
		limit = 1;
	good = limit && message->length <= (uint64_t)limit * RESIZE_FRAGMENTS;
	do {
		uint64_t left = message->length - from;
		uint32_t length = left < limit ? (uint32_t)left : limit;
		struct nopal_segment *segment = NULL;

		if (good)
			segment = nopal_segment_cut(at.session, message, from, length);
		good = segment != NULL;
		if (!good)
			break;
		nopal_set(at, segment, RESIZE_FRAGMENT,
			  from / limit | (length == left ? RESIZE_LAST : 0));
		nopal_raise_SEGMENT_FROM_USER(at.session, segment);
		from += limit;
	} while (from < message->length);
	if (!good) {
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "a message could not be cut into segments");
		return NOPAL_STOP;
	}
	nopal_message_is_cut(at.session, message);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------- incomplete messages */

static void resize_watch(struct nopal_at at)
{
	const struct resize_parameters *set = nopal_parameters(at);
	struct reassembly *self = nopal_state(at);

	if (self->oldest)
		nopal_timer_start(at, RESIZE_EXPIRE,
				  self->oldest->message->created_ns + set->reassembly_timeout_ns);
}

static void resize_when_expired(struct nopal_at at)
{
	const struct resize_parameters *set = nopal_parameters(at);
	struct reassembly *self = nopal_state(at);
	int64_t born_ns = at.session->now_ns - set->reassembly_timeout_ns;

	while (self->oldest && self->oldest->message->created_ns <= born_ns)
		reassembly_abandon(at.session, self, self->oldest);
	resize_watch(at);
}

/* ------------------------------------------------------------- from the net */

/* Where the message stands in the order: by message numbers, else by segment numbers. */
static void resize_place(struct nopal_at at, struct nopal_message *message, uint64_t key,
			 uint32_t total)
{
	bool numbered = nopal_has(at, RESIZE_MESSAGE);

	nopal_set(at, message, RESIZE_FIRST, key);
	nopal_set(at, message, RESIZE_NEXT, key + (numbered ? 1 : total));
}

static enum nopal_verdict resize_unkept(struct nopal_at at)
{
	if (nopal_shared_get(at, RESIZE_UNMET))
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room for a message that arrives");
	return NOPAL_STOP;
}

static enum nopal_verdict resize_join(struct nopal_at at, struct nopal_segment *segment,
				      struct partial *partial)
{
	struct reassembly *self = nopal_state(at);
	uint64_t fragment = nopal_get(at, segment, RESIZE_FRAGMENT);
	uint32_t index = fragment & RESIZE_INDEX, total;
	uint64_t key = partial->key;

	if (!partial_agrees(partial, index, (fragment & RESIZE_LAST) != 0))
		return NOPAL_STOP;
	if (!nopal_message_put(at.session, partial->message, index, segment->body)) {
		reassembly_abandon(at.session, self, partial);
		return resize_unkept(at);
	}
	if (fragment & RESIZE_LAST)
		partial->total = index + 1;
	if (index >= partial->reach)
		partial->reach = index + 1;
	total = partial->total;
	if (partial->message->fragments == total) {
		struct nopal_message *message = reassembly_take(self, partial);

		resize_place(at, message, key, total);
		nopal_raise_MSG_FROM_NET(at.session, message);
	}
	return NOPAL_CONTINUE;
}

/* The common case, a message of one segment, needs no record.  Of incomplete messages, where nobody
 * resends, the oldest makes room for a new one. */
static enum nopal_verdict resize_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	const struct resize_parameters *set = nopal_parameters(at);
	struct reassembly *self = nopal_state(at);
	uint64_t fragment = nopal_get(at, segment, RESIZE_FRAGMENT);
	uint64_t index = fragment & RESIZE_INDEX;
	uint64_t key = nopal_get(at, segment, RESIZE_MESSAGE);
	struct partial *partial = self->latest;
	struct nopal_message *message;

	if (!nopal_has(at, RESIZE_MESSAGE)) {
		key = nopal_get(at, segment, RESIZE_SEGMENT);
		if (key < index)
			return NOPAL_STOP;
		key -= index;
	}
	if (fragment == RESIZE_LAST) {
		if (nopal_segment_rise(at.session, segment))
			return NOPAL_CONTINUE;
		message = one_body_arriving(at.session, segment, segment->body);
		if (!message)
			return resize_unkept(at);
		resize_place(at, message, key, 1);
		nopal_raise_MSG_FROM_NET(at.session, message);
		return NOPAL_CONTINUE;
	}
	if (segment->body.length == 0)
		return NOPAL_STOP;
	if (!partial || partial->key != key)
		partial = nopal_map_get(&self->partials, key);
	if (!partial) {
		bool full = self->partials.used >= set->partial;
		bool unmet = nopal_shared_get(at, RESIZE_UNMET) != 0;

		if (full && !unmet)
			reassembly_abandon(at.session, self, self->oldest);
		if (!full || !unmet)
			partial = reassembly_begin(at.session, self, segment, key);
		if (partial && !unmet && !nopal_timer_running(at, RESIZE_EXPIRE))
			resize_watch(at);
	}
	self->latest = partial;
	return partial ? resize_join(at, segment, partial) : resize_unkept(at);
}

static enum nopal_verdict resize_on_gave_up(struct nopal_at at, struct nopal_forward *forward)
{
	struct reassembly *self = nopal_state(at);
	struct partial *partial = self->oldest, *newer;

	for (; partial; partial = newer) {
		newer = partial->newer;
		if (partial->key < forward->order)
			reassembly_abandon(at.session, self, partial);
	}
	return NOPAL_CONTINUE;
}

static uint64_t resize_message_limit(const void *parameters, uint32_t body_bytes)
{
	(void)parameters;
	return (uint64_t)body_bytes * RESIZE_FRAGMENTS;
}

static const struct nopal_attribute resize_attributes[] = {
	[RESIZE_FRAGMENT] = { "fragment", NOPAL_WRITE, "last of its message, and its place in it",
			      .wire_bytes = RESIZE_WIRE_BYTES, .kinds = NOPAL_DATA },
	[RESIZE_MESSAGE] = { "message_number", NOPAL_READ_OPTIONAL },
	[RESIZE_SEGMENT] = { "segment_number", NOPAL_READ_OPTIONAL },
	[RESIZE_FIRST] = { "order_first", NOPAL_WRITE, "first number that the message covers" },
	[RESIZE_NEXT] = { "order_next", NOPAL_WRITE, "one past the last number that it covers" },
	[RESIZE_DESTINATION] = { "destination", NOPAL_READ_OPTIONAL },
	{ 0 },
};

const struct nopal_microprotocol nopal_resize = {
	NOPAL_DESCRIBE(resize, base, "cut messages into segments, and put them together again"),
	.many = true,
	.provides = NOPAL_ROLES({ "message_segments", true }),
	.standard = "message_segments",
	.needs = NOPAL_RELATIONS({ "message_numbers|segment_numbers",
				   "numbers say which segments belong to one message" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_MESSAGE_SIZE, NOPAL_OPENING_STAGE, NOPAL_REQUIRES, NOPAL_ANY_SIZE,
		  "a message for one alone is cut by the layer below", .with = "fan_out" },
		{ NOPAL_DELIVERY, NOPAL_REASSEMBLY, NOPAL_LOWERS, NOPAL_IN_TIME,
		  "a message that stays incomplete for so long is dropped", .with = "fan_out",
		  .without = "channel_repair", .bound = "reassembly_timeout" },
		{ NOPAL_DELIVERY, NOPAL_REASSEMBLY, NOPAL_LOWERS, NOPAL_IN_TIME,
		  "the missing fragments of a message may have been given up below",
		  .without = "reliability|channel_repair", .amid_partial = true,
		  .bound = "reassembly_timeout" },
		{ NOPAL_MESSAGE_SIZE, NOPAL_REASSEMBLY, NOPAL_GIVES, NOPAL_ANY_SIZE,
		  "messages are cut into segments" }),
	.parameters_size = sizeof(struct resize_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* every IPv4 host takes 576 bytes: RFC 791 */
		NOPAL_NUMBER(resize, mtu_bytes, "mtu", SIZE, "1500B", "576B", "65535B",
			     "longest datagram with its IP and UDP headers"),
		NOPAL_NUMBER(resize, partial, "partial", COUNT, "65536", "1", "1048576",
			     "messages that may be incomplete at once"),
		NOPAL_NUMBER(resize, reassembly_timeout_ns, "reassembly_timeout", TIME, "10s",
			     "1ms", "10min",
			     "how long a message may be incomplete where nobody resends",
			     .waits = NOPAL_WAITS_LONGEST)),
	.attributes = resize_attributes,
	.shared = NOPAL_SHARED([RESIZE_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
						  "1: missing segments are still to come" }),
	.timers = NOPAL_TIMERS([RESIZE_EXPIRE] = { "expire", resize_when_expired }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_FROM_USER, resize_on_from_user),
				   NOPAL_ON(SEGMENT_VERIFIED, resize_on_verified),
				   NOPAL_ON(FORWARD_RECEIVED, resize_on_gave_up)),
	.raises = NOPAL_RAISES("SEGMENT_FROM_USER", "MSG_FROM_NET", "SESSION_BROKEN"),
	.state_size = sizeof(struct reassembly),
	.idle = reassembly_idle,
	.message_limit = resize_message_limit,
};
