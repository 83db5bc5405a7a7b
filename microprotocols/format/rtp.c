/* SPDX-License-Identifier: MIT */
/*
 * rtp -- speak with programs that know RTP: a message is the payload of a packet.
 *
 *    0                   1                   2                   3
 *    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *   |V=2|P|X|  CC   |M|     PT      |       sequence number         |
 *   |                           timestamp                           |
 *   |                synchronization source (SSRC)                  |
 *
 * Sequence number, timestamp and source begin at random values, as they should; inside, numbers
 * count from 1: from the first packet that arrived.  A stranger's source is listened to when two of
 * its packets come in order, and numbers go on.  RTCP packets are dropped.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, sections II.B (pack and unpack
 *            routines) and V.E; the format is that of RFC 3550, section 5.1.
 * Differs:   sends no RTCP: its reports would be a microprotocol of their own.
 * Wire:      payload_type and marker are 1 byte together; 5 bytes more are RTP's.
 */
#include <nopal/microprotocol.h>

enum {
	RTP_VERSION = 2,
	RTP_VERSION_SHIFT = 6,
	RTP_PADDING = 0x20,
	RTP_EXTENSION = 0x10,
	RTP_SOURCES = 0x0f,
	RTP_MARKER = 0x80,
	RTP_TYPE = 0x7f,
	RTP_WORD_BYTES = 4,
	RTP_HEADER_BYTES = 12,
	RTP_RTCP_FIRST = 192, /* RFC 5761, section 4: types that are RTCP's */
	RTP_RTCP_LAST = 223,
};
enum { RTP_NUMBER, RTP_TIMESTAMP, RTP_PAYLOAD_TYPE, RTP_MARK }; /* attributes */

struct rtp_parameters {
	int64_t payload_type;
	int64_t clock;
};

struct rtp {
	uint64_t next;		 /* number of our next message */
	uint16_t first_sequence; /* of ours; the number before the first */
	uint32_t first_timestamp;
	uint32_t source;
	uint32_t peer_source;
	uint32_t strange_source; /* of the last packet of another source */
	uint16_t strange_sequence;
	uint16_t sequence; /* of the peer's newest packet */
	uint64_t highest;  /* and its number; 0: nothing has come */
};

static enum nopal_verdict rtp_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	const struct rtp_parameters *set = nopal_parameters(at);
	struct rtp *self = nopal_state(at);

	nopal_set(at, message, RTP_NUMBER, self->next++);
	if (!nopal_get(at, message, RTP_PAYLOAD_TYPE))
		nopal_set(at, message, RTP_PAYLOAD_TYPE, (uint64_t)set->payload_type);
	if (!nopal_get(at, message, RTP_TIMESTAMP))
		nopal_set(at, message, RTP_TIMESTAMP,
			  nopal_scale((uint64_t)at.session->now_ns, (uint64_t)set->clock,
				      (uint64_t)NOPAL_SECOND));
	return NOPAL_CONTINUE;
}

static void rtp_pack(struct nopal_at at, const struct nopal_segment *segment,
		     struct nopal_writer *writer)
{
	const struct rtp *self = nopal_state(at);
	uint64_t type = nopal_get(at, segment, RTP_PAYLOAD_TYPE) & RTP_TYPE;

	if (nopal_get(at, segment, RTP_MARK))
		type |= RTP_MARKER;
	nopal_write(writer, RTP_VERSION << RTP_VERSION_SHIFT, 1);
	nopal_write(writer, type, 1);
	nopal_write(writer, self->first_sequence + nopal_get(at, segment, RTP_NUMBER), 2);
	nopal_write(writer, self->first_timestamp + nopal_get(at, segment, RTP_TIMESTAMP),
		    RTP_WORD_BYTES);
	nopal_write(writer, self->source, RTP_WORD_BYTES);
}

/* Is the packet from the source that we listen to, by now? The first packet of all has number 1,
 * and the first of a new source follows `highest`. */
static bool rtp_is_heard(struct rtp *self, uint32_t source, uint16_t sequence)
{
	bool follows = source == self->strange_source &&
		       sequence == (uint16_t)(self->strange_sequence + 1);

	if (self->highest && source == self->peer_source)
		return true;
	self->strange_source = source;
	self->strange_sequence = sequence;
	if (self->highest && !follows)
		return false;
	self->peer_source = source;
	self->sequence = (uint16_t)(sequence - 1);
	return true;
}

static bool rtp_is_rtcp(uint64_t second_byte)
{
	return second_byte >= RTP_RTCP_FIRST && second_byte <= RTP_RTCP_LAST;
}

/* Contributing sources and an extension say nothing to us; nor does padding, whose length is its
 * last byte. */
static bool rtp_unpack(struct nopal_at at, struct nopal_segment *segment,
		       struct nopal_reader *reader)
{
	struct rtp *self = nopal_state(at);
	uint64_t flags = nopal_read(reader, 1), type = nopal_read(reader, 1);
	uint16_t sequence = (uint16_t)nopal_read(reader, 2);
	uint64_t timestamp = nopal_read(reader, RTP_WORD_BYTES);
	uint32_t source = (uint32_t)nopal_read(reader, RTP_WORD_BYTES);
	int16_t ahead;
	int64_t number;

	nopal_read_bytes(reader, (flags & RTP_SOURCES) * RTP_WORD_BYTES);
	if (flags & RTP_EXTENSION) {
		nopal_read(reader, 2);
		nopal_read_bytes(reader, nopal_read(reader, 2) * RTP_WORD_BYTES);
	}
	if (flags & RTP_PADDING) {
		size_t left = nopal_read_left(reader);
		size_t padding = left ? reader->end[-1] : 0;

		if (padding == 0 || padding > left)
			return false;
		reader->end -= padding;
	}
	if (reader->bad || flags >> RTP_VERSION_SHIFT != RTP_VERSION || rtp_is_rtcp(type) ||
	    !rtp_is_heard(self, source, sequence))
		return false;
	ahead = (int16_t)(uint16_t)(sequence - self->sequence);
	number = (int64_t)self->highest + ahead;
	if (ahead > 0) {
		self->highest = (uint64_t)number;
		self->sequence = sequence;
	}
	if (number <= 0) /* older than the first that came */
		return false;
	nopal_set(at, segment, RTP_NUMBER, (uint64_t)number);
	nopal_set(at, segment, RTP_TIMESTAMP, timestamp);
	nopal_set(at, segment, RTP_PAYLOAD_TYPE, type & RTP_TYPE);
	nopal_set(at, segment, RTP_MARK, (type & RTP_MARKER) != 0);
	return true;
}

static bool rtp_opens(struct nopal_at at, struct nopal_reader datagram)
{
	uint64_t flags = nopal_read(&datagram, 1);
	uint64_t type = nopal_read(&datagram, 1);

	(void)at;
	return flags >> RTP_VERSION_SHIFT == RTP_VERSION && !rtp_is_rtcp(type) &&
	       nopal_read_left(&datagram) >= RTP_HEADER_BYTES - 2;
}

static int rtp_open(struct nopal_at at)
{
	struct rtp *self = nopal_state(at);
	uint64_t random = nopal_random(at.session);

	self->next = 1;
	self->source = (uint32_t)random;
	self->first_sequence = (uint16_t)(random >> 32);
	self->first_timestamp = (uint32_t)nopal_random(at.session);
	return 0;
}

const struct nopal_microprotocol nopal_rtp = {
	NOPAL_DESCRIBE(rtp, format, "speak with programs that know RTP"),
	.provides = NOPAL_ROLES({ "data_format", true }, { "message_numbers", true }),
	.needs = NOPAL_RELATIONS({ "network", "it writes headers of datagrams" }),
	.excludes =
		NOPAL_RELATIONS({ "integrity", "its trailer would be part of the payload there" }),
	.promises = NOPAL_PROMISES(NOPAL_NAMELESS_FORMAT),
	.parameters_size = sizeof(struct rtp_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(rtp, payload_type, "payload_type", COUNT, "96", "0", "127",
			     "of messages that say none"),
		NOPAL_NUMBER(rtp, clock, "clock", COUNT, "90000", "1", "1000000000",
			     "ticks of a timestamp in a second, for messages without one")),
	.attributes = NOPAL_ATTRIBUTES(
		{ "message_number", NOPAL_WRITE, "of the message, from 1", .wire_bytes = 2,
		  .kinds = NOPAL_DATA },
		{ "timestamp", NOPAL_PROPERTY, "when it was sampled, in ticks of the clock",
		  .wire_bytes = RTP_WORD_BYTES, .kinds = NOPAL_DATA },
		{ "payload_type", NOPAL_PROPERTY, "type of the payload, 0 to 127", .wire_bytes = 1,
		  .kinds = NOPAL_DATA },
		{ "marker", NOPAL_PROPERTY, "1: a frame ends, or speech begins", .wire_bytes = 1,
		  .kinds = NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, rtp_on_from_user, .before = "message_segments")),
	.state_size = sizeof(struct rtp),
	.open = rtp_open,
	.format =
		&(const struct nopal_format){
			.interop = true,
			.bytes = RTP_HEADER_BYTES,
			.carries = (const char *const[]){ "message_number", "timestamp",
							  "payload_type", "marker", NULL },
			.pack = rtp_pack,
			.unpack = rtp_unpack,
			.opens = rtp_opens },
};
