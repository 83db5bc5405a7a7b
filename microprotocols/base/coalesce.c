/* SPDX-License-Identifier: MIT */
/*
 * coalesce -- several small messages in one segment.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A.
 * Differs:   messages of one turn leave together at its end; a message waits
 *            longer for others only where `delay` says so.  A message that one
 *            datagram cannot carry is refused when it is sent.  Messages share a
 *            segment only where they would have the same attributes: all of them
 *            compressed or none, equally urgent, with the same deadline.
 * Wire:      body of data: for each message its length (varint) and its bytes.
 *            The segment's message_number is that of the first.
 */
#include "one_body.h"

struct coalesce_parameters {
	int64_t mtu_bytes; /* the runtime reads it */
	int64_t delay_ns;
};

/* attributes */
enum {
	COALESCE_MESSAGE,
	COALESCE_FIRST,
	COALESCE_NEXT,
	COALESCE_COMPRESSED,
};
enum { COALESCE_UNMET }; /* shared variables */
enum { COALESCE_FLUSH }; /* timers */

enum {
	COALESCE_MESSAGES = 256,  /* in one segment at most */
	COALESCE_VARINT_BITS = 7, /* of a length, in each of its bytes */
};

struct coalesce {
	struct nopal_buffer *buffer; /* being filled, or NULL */
	struct nopal_writer writer;
	uint32_t count; /* messages in it */
	struct nopal_handle message[COALESCE_MESSAGES];
};

/* --------------------------------------------------------------- to the net */

static enum nopal_verdict coalesce_break(struct nopal_session *session)
{
	nopal_session_break(session, NOPAL_RESOURCE, "no segment could be made of messages");
	return NOPAL_STOP;
}

/* Ends the segment that is being filled, whose outcome is that of all messages in it.  These are
 * cut before it goes: the list may be filled anew while it does.  NULL: nothing to send, or the
 * session is broken. */
static struct nopal_segment *coalesce_end(struct nopal_at at)
{
	struct coalesce *self = nopal_state(at);
	struct nopal_body body = { self->buffer, self->writer.start, nopal_written(&self->writer) };
	struct nopal_message *message = nopal_message_find(at.session, self->message[0]);
	struct nopal_segment *segment = NULL;
	uint32_t count = self->count;

	nopal_timer_stop(at, COALESCE_FLUSH);
	if (!count)
		return NULL;
	self->buffer = NULL;
	if (message)
		segment = nopal_segment_new(at.session, message, body);
	else
		nopal_buffer_unref(body.buffer);
	for (uint32_t i = 1; segment && i < count; i++) {
		message = nopal_message_find(at.session, self->message[i]);
		if (message)
			nopal_segment_also(at.session, segment, message);
	}
	self->count = 0;
	if (!segment)
		coalesce_break(at.session);
	for (uint32_t i = 0; segment && i < count; i++) {
		message = nopal_message_find(at.session, self->message[i]);
		if (message)
			nopal_message_is_cut(at.session, message);
	}
	return segment;
}

static void coalesce_when_flush(struct nopal_at at)
{
	struct nopal_segment *segment = coalesce_end(at);

	if (segment)
		nopal_raise_SEGMENT_FROM_USER(at.session, segment);
}

static uint32_t coalesce_length_bytes(uint64_t length)
{
	uint32_t bytes = 1;

	while (length >>= COALESCE_VARINT_BITS)
		bytes++;
	return bytes;
}

/* Adds the message whole or not at all: there may be no room, or messages of another kind.  A new
 * segment has the room that the path takes, or that of a message that is longer: the network
 * fragments that one. */
static bool coalesce_add(struct nopal_at at, const struct nopal_message *message)
{
	struct coalesce *self = nopal_state(at);
	uint64_t alone = coalesce_length_bytes(message->length) + message->length;
	uint32_t room = nopal_body_limit(at.session);
	struct nopal_writer writer;

	if (!self->buffer) {
		if (alone > nopal_body_max(at.session))
			return false;
		if (alone > room)
			room = (uint32_t)alone;
		self->buffer = nopal_body_buffer(at.session, room);
		if (!self->buffer)
			return false;
		self->writer = nopal_writer_over(self->buffer->bytes, room);
	}
	if (self->count == COALESCE_MESSAGES)
		return false;
	if (self->count) {
		const struct nopal_message *first =
			nopal_message_find(at.session, self->message[0]);

		if (!first || !nopal_message_is_like(at.session, first, message) ||
		    nopal_get(at, first, COALESCE_COMPRESSED) !=
			    nopal_get(at, message, COALESCE_COMPRESSED))
			return false;
	}
	writer = self->writer;
	nopal_write_varint(&writer, message->length);
	nopal_write_bytes(&writer, message->one.bytes, message->length);
	if (writer.full)
		return false;
	self->writer = writer;
	self->message[self->count++] = message->handle;
	return true;
}

static enum nopal_verdict coalesce_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	const struct coalesce_parameters *set = nopal_parameters(at);
	struct coalesce *self = nopal_state(at);
	struct nopal_segment *full = NULL;

	/* The message has its number: it takes its place before the full segment goes, for its
	 * going may send more. */
	if (!coalesce_add(at, message)) {
		full = coalesce_end(at);
		if (!coalesce_add(at, message))
			return coalesce_break(at.session);
	}
	if (set->delay_ns && self->count == 1)
		nopal_timer_start(at, COALESCE_FLUSH, at.session->now_ns + set->delay_ns);
	if (full)
		nopal_raise_SEGMENT_FROM_USER(at.session, full);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict coalesce_on_turn_end(struct nopal_at at, struct nopal_session *subject)
{
	const struct coalesce_parameters *set = nopal_parameters(at);

	(void)subject;
	if (!set->delay_ns)
		coalesce_when_flush(at);
	return NOPAL_CONTINUE;
}

/* ------------------------------------------------------------- from the net */

static enum nopal_verdict coalesce_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	uint64_t number = nopal_get(at, segment, COALESCE_MESSAGE);
	struct nopal_reader check = reader;
	uint64_t count = 0;
	bool kept = true;

	while (nopal_read_left(&check)) {
		nopal_read_bytes(&check, nopal_read_varint(&check));
		count++;
	}
	if (!nopal_read_complete(&check))
		return NOPAL_STOP;
	for (uint64_t end = number + count; number < end; number++) {
		struct nopal_body body = { .buffer = segment->body.buffer };
		struct nopal_message *message;

		body.length = (uint32_t)nopal_read_varint(&reader);
		body.bytes = nopal_read_bytes(&reader, body.length);
		message = one_body_arriving(at.session, segment, body);
		kept = kept && message;
		if (!message)
			continue;
		nopal_set(at, message, COALESCE_MESSAGE, number);
		nopal_set(at, message, COALESCE_FIRST, number);
		nopal_set(at, message, COALESCE_NEXT, number + 1);
		nopal_raise_MSG_FROM_NET(at.session, message);
	}
	if (!kept)
		return one_body_unkept(at.session, nopal_shared_get(at, COALESCE_UNMET));
	return count ? NOPAL_CONTINUE : NOPAL_STOP;
}

static void coalesce_close(struct nopal_at at)
{
	struct coalesce *self = nopal_state(at);

	nopal_buffer_unref(self->buffer);
}

/* The rest of a body behind the length of the message that fills it. */
static uint64_t coalesce_message_limit(const void *parameters, uint32_t body_bytes)
{
	uint32_t length_bytes = coalesce_length_bytes(body_bytes);

	(void)parameters;
	return body_bytes > length_bytes ? body_bytes - length_bytes : 0;
}

const struct nopal_microprotocol nopal_coalesce = {
	NOPAL_DESCRIBE(coalesce, base, "several small messages in one segment"),
	.provides = NOPAL_ROLES({ "message_segments", true }),
	.needs = NOPAL_RELATIONS(
		{ "message_numbers", "messages of one segment are told apart by their numbers" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_MESSAGE_SIZE, NOPAL_REASSEMBLY, NOPAL_LOWERS, 0,
		  "a message is no longer than a segment" },
		{ NOPAL_LABELS, NOPAL_REASSEMBLY, NOPAL_LOWERS, 0,
		  "messages share a segment, and so the attributes of the first of them" }),
	.parameters_size = sizeof(struct coalesce_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* every IPv4 host takes 576 bytes: RFC 791 */
		NOPAL_NUMBER(coalesce, mtu_bytes, "mtu", SIZE, "1500B", "576B", "65535B",
			     "longest datagram with its IP and UDP headers"),
		NOPAL_NUMBER(coalesce, delay_ns, "delay", TIME, "0ms", "0ms", "1s",
			     "longest wait for more messages")),
	.attributes =
		NOPAL_ATTRIBUTES([COALESCE_MESSAGE] = { "message_number", NOPAL_READ },
				 [COALESCE_FIRST] = { "order_first", NOPAL_WRITE,
						      "first number that the message covers" },
				 [COALESCE_NEXT] = { "order_next", NOPAL_WRITE,
						     "one past the last number that it covers" },
				 [COALESCE_COMPRESSED] = { "compressed", NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED(
		[COALESCE_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
				     "1: a message that cannot be kept breaks the session" }),
	.timers = NOPAL_TIMERS([COALESCE_FLUSH] = { "flush", coalesce_when_flush }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, coalesce_on_from_user),
		NOPAL_ON(TURN_END, coalesce_on_turn_end, .before = "window_mechanism"),
		NOPAL_ON(SEGMENT_VERIFIED, coalesce_on_verified)),
	.raises = NOPAL_RAISES("SEGMENT_FROM_USER", "MSG_FROM_NET", "SESSION_BROKEN"),
	.state_size = sizeof(struct coalesce),
	.message_limit = coalesce_message_limit,
	.close = coalesce_close,
};
