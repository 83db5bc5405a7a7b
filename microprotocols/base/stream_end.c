/* SPDX-License-Identifier: MIT */
/*
 * stream_end -- a stream opens at once, and tells the peer when it ends.
 *
 * Paper:     the one-to-many, multi-stream transport, section 3.6 (each stream ends
 *            by itself); Gu and Grossman, UDTv4, section 3.3 (a connection leaves
 *            its flow).
 * Differs:   the flow below has had its handshake: the first message of a stream
 *            opens it at the peer, and joining takes no round trip.
 * Wire:      a segment `end` when all that was sent has its outcome; a segment `reset`
 *            when the stream broke: why, 1, and text; without memory for that the
 *            flow ends.
 *
 * The end of one direction waits for nothing of the other one.  A stream has ended when both sides
 * have said so, and the peer has our word.
 *
 * A stream to many destinations ends for all of them when its sender says so, and as many have the
 * word as must have a message.  A destination that ends the stream on its side ends it for itself.
 */
#include <nopal/microprotocol.h>

enum { STREAM_END_END, STREAM_END_RESET }; /* kinds */

struct stream_end {
	bool began; /* its flow is open: the peer may have heard of it */
	bool said;  /* our word is on its way */
	bool told;  /* the peer has our word, or nobody takes it */
	bool heard; /* the peer's */
	bool reset; /* it broke there */
};

static enum nopal_verdict stream_end_on_open(struct nopal_at at, struct nopal_session *subject)
{
	struct stream_end *self = nopal_state(at);

	(void)subject;
	self->began = true;
	nopal_session_opened(at.session);
	return NOPAL_CONTINUE;
}

static void stream_end_look(struct nopal_at at)
{
	const struct stream_end *self = nopal_state(at);

	if (self->told && (self->heard || nopal_is_group(at.session)))
		nopal_session_closed(at.session);
}

static enum nopal_verdict stream_end_on_close(struct nopal_at at, struct nopal_session *subject)
{
	struct stream_end *self = nopal_state(at);
	struct nopal_segment *segment = nopal_control_bare(at, STREAM_END_END);

	(void)subject;
	self->said = segment != NULL;
	if (segment)
		nopal_raise_SEGMENT_TO_NET(at.session, segment);
	else
		nopal_session_break(at.session, NOPAL_RESOURCE,
				    "no room to say that a stream ends");
	return NOPAL_CONTINUE;
}

static enum nopal_verdict stream_end_on_done(struct nopal_at at, struct nopal_segment *segment)
{
	struct stream_end *self = nopal_state(at);

	(void)segment;
	self->told = true;
	stream_end_look(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict stream_end_on_end(struct nopal_at at, struct nopal_segment *segment)
{
	struct stream_end *self = nopal_state(at);

	(void)segment;
	if (nopal_is_group(at.session))
		return NOPAL_CONTINUE;
	self->heard = true;
	nopal_session_peer_closed(at.session);
	stream_end_look(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict stream_end_on_reset(struct nopal_at at, struct nopal_segment *segment)
{
	struct stream_end *self = nopal_state(at);
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	char text[NOPAL_FAILURE_TEXT];
	struct nopal_failure failure;

	if (nopal_is_group(at.session) || !nopal_failure_read(&reader, &failure, text))
		return NOPAL_CONTINUE;
	self->reset = true;
	nopal_session_break(at.session, failure.end, failure.text);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict stream_end_on_broken(struct nopal_at at, struct nopal_failure *failure)
{
	const struct stream_end *self = nopal_state(at);
	struct nopal_segment *segment;
	struct nopal_writer writer;

	/* A peer that has ended its side, and hears of our end, has closed. */
	if (self->reset || (self->heard && self->said) ||
	    (nopal_session_is_opener(at.session) && !self->began))
		return NOPAL_CONTINUE;
	segment = nopal_control_begin(at, STREAM_END_RESET, NOPAL_FAILURE_BYTES, &writer);
	if (!segment) {
		nopal_flow_break(at.session, "no room to say that a stream broke");
		return NOPAL_CONTINUE;
	}
	nopal_failure_write(&writer, failure);
	nopal_control_send(at.session, segment, nopal_written(&writer));
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_stream_end = {
	NOPAL_DESCRIBE(stream_end, base, "a stream opens at once, and tells the peer when it ends"),
	.wire_version = 1,
	.many = true,
	.provides = NOPAL_ROLES({ "connection", true }),
	.needs = NOPAL_RELATIONS(
		{ "layer_below", "the flow has had its handshake, and a stream has none" }),
	.promises = NOPAL_PROMISES(
		{ NOPAL_OPENING, NOPAL_OPENING_STAGE, NOPAL_REQUIRES, NOPAL_PROVEN,
		  "a flow without a handshake is gone with its last stream, acks or not" },
		{ NOPAL_DELIVERY, NOPAL_FILTER, NOPAL_REQUIRES, NOPAL_ALL,
		  "where the word that a stream is at its end gets lost, its peer waits for ever" }),
	.kinds = NOPAL_KINDS([STREAM_END_END] = { "end", NOPAL_KIND_CARRIED,
						  "this side sends no more on the stream" },
			     [STREAM_END_RESET] = { "reset", NOPAL_KIND_CONTROL,
						    "the stream broke on this side" }),
	.state_size = sizeof(struct stream_end),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(OPEN_SESSION, stream_end_on_open),
				   NOPAL_ON(CLOSE_SESSION, stream_end_on_close),
				   NOPAL_ON(SESSION_BROKEN, stream_end_on_broken),
				   NOPAL_ON(SEGMENT_DONE, stream_end_on_done,
					    .kinds = NOPAL_OWN_KIND + STREAM_END_END),
				   NOPAL_ON_OWN(STREAM_END_END, stream_end_on_end),
				   NOPAL_ON_OWN(STREAM_END_RESET, stream_end_on_reset)),
	.raises = NOPAL_RAISES("SEGMENT_TO_NET", "SESSION_OPENED", "PEER_CLOSED", "SESSION_BROKEN"),
};
