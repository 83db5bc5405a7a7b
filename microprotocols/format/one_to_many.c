/* SPDX-License-Identifier: MIT */
/*
 * one_to_many -- the header of the one-to-many protocol: 20 bytes for all it sends.
 *
 *    0                   1                   2                   3
 *    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *   |    version    | source stream |  dest. stream |     flags     |
 *   |                        sequence number                        |
 *   |                     acknowledgement number                    |
 *   |                     bytes of the payload                      |
 *   |                           checksum                            |
 *
 *   flags  0x01 a message starts   0x02 a message ends   0x04 first packet (SYN)
 *          0x08 FIN                0x10 ACK: the acknowledgement number counts
 *
 *               flags                    sequence number        payload
 *   data        START, END; ACK          its own                of a message
 *   ack         ACK                      the next one's         none
 *   SYN         SYN                      the first one's, - 1   4 bytes (three_way)
 *   SYN-ACK     SYN, ACK                 the first one's, - 1   4 bytes (three_way)
 *   FIN         FIN, ACK                 its own                none
 *
 * A packet says where a message starts and where it ends; its place in the message shows only in
 * sequence, and is counted there.  A pure acknowledgement has the flag ACK alone and no payload;
 * its sequence number is that of the next packet.
 *
 * Without three_way there is no handshake: the first packet of data opens, has the flag SYN besides
 * its others and the first number, 1; and the peer's end is not told.
 *
 * Paper:     the one-to-many protocol, section 3.4; 3.2 for the numbers, 3.5 and 3.6
 *            for SYN and FIN, 3.7 and 4.2.6 for messages in packets.
 * Differs:   the paper gives no values of version and flags, and contradicts itself:
 *            sequence numbers count packets (3.2, 4.4.3), not bytes (3.4, 3.5); the
 *            field named a cyclic redundancy check is the one's complement sum that
 *            its text describes, of the header, or with `cover` of all there is.
 */
#include <nopal/microprotocol.h>

#include "../security/ones_complement.h"

enum {
	ONE_TO_MANY_VERSION = 1,
	ONE_TO_MANY_HEADER_BYTES = 20,
	ONE_TO_MANY_WORD_BYTES = 4,
	ONE_TO_MANY_SIZE_AT = 12,     /* bytes of the payload */
	ONE_TO_MANY_CHECKSUM_AT = 16, /* and the checksum */
	/* resize's attribute of a segment: the last one, and its place */
	ONE_TO_MANY_LAST = 1 << 15,
	ONE_TO_MANY_PLACE = ONE_TO_MANY_LAST - 1,
};
enum {
	ONE_TO_MANY_START = 0x01,
	ONE_TO_MANY_END = 0x02,
	ONE_TO_MANY_SYN = 0x04,
	ONE_TO_MANY_FIN = 0x08,
	ONE_TO_MANY_ACK = 0x10,
	/* what data may say */
	ONE_TO_MANY_KNOWN = ONE_TO_MANY_START | ONE_TO_MANY_END | ONE_TO_MANY_SYN | ONE_TO_MANY_ACK,
};
enum { ONE_TO_MANY_OF_HEADER, ONE_TO_MANY_OF_PACKET }; /* cover */
/* kinds */
enum {
	ONE_TO_MANY_DATA = -1,
	ONE_TO_MANY_PURE_ACK,
	ONE_TO_MANY_IS_SYN,
	ONE_TO_MANY_IS_SYN_ACK,
	ONE_TO_MANY_IS_FIN,
	ONE_TO_MANY_CONFIRM, /* leaves so, and comes as a pure one */
};
enum { ONE_TO_MANY_MSS_BYTES = 4 };
#define ONE_TO_MANY_NO_CUMULATIVE UINT64_MAX /* what is not acknowledged */

/* attributes */
enum {
	ONE_TO_MANY_NUMBER,
	ONE_TO_MANY_CUMULATIVE,
	ONE_TO_MANY_FRAGMENT,
	ONE_TO_MANY_FLAGS,
	ONE_TO_MANY_SHAKEN_NUMBER,
	ONE_TO_MANY_SHAKEN_CUMULATIVE,
};
enum { ONE_TO_MANY_LOCAL, ONE_TO_MANY_PEER }; /* shared variables */

struct one_to_many_parameters {
	int64_t opener_stream, listener_stream, cover;
};

struct one_to_many {
	uint64_t next;	 /* one past the highest number that left */
	uint64_t newest; /* the peer's last one in sequence, or its first */
	uint64_t place;	 /* in its message */
	bool shaken;	 /* by a handshake: no data opens */
};

/* The one's complement sum, in 32 bits, of a header with its checksum field, and of the payload
 * where that is covered. */
static uint32_t one_to_many_covered(struct nopal_at at, const uint8_t *header,
				    const uint8_t *payload, size_t length)
{
	const struct one_to_many_parameters *set = nopal_parameters(at);
	uint64_t sum = nopal__word_sum(header, ONE_TO_MANY_HEADER_BYTES);

	if (set->cover == ONE_TO_MANY_OF_PACKET)
		sum += nopal__word_sum(payload, length);
	while (sum >> 32)
		sum = (sum & UINT32_MAX) + (sum >> 32);
	return (uint32_t)sum;
}

/* -------------------------------------------------------------------- leaving */

static uint8_t one_to_many_stream(struct nopal_at at, bool ours)
{
	const struct one_to_many_parameters *set = nopal_parameters(at);

	return (uint8_t)(nopal_session_is_opener(at.session) == ours ? set->opener_stream
								     : set->listener_stream);
}

/* The fields of a header, written or read. */
struct one_to_many_header {
	uint64_t version, source, destination, flags;
	uint64_t number, cumulative, bytes;
};

/* By kind; data say what they are. */
static const uint8_t one_to_many_kind_flags[] = {
	[ONE_TO_MANY_PURE_ACK] = ONE_TO_MANY_ACK,
	[ONE_TO_MANY_IS_SYN] = ONE_TO_MANY_SYN,
	[ONE_TO_MANY_IS_SYN_ACK] = ONE_TO_MANY_SYN | ONE_TO_MANY_ACK,
	[ONE_TO_MANY_IS_FIN] = ONE_TO_MANY_FIN | ONE_TO_MANY_ACK,
	[ONE_TO_MANY_CONFIRM] = ONE_TO_MANY_ACK,
};

static struct one_to_many_header one_to_many_header_of(struct nopal_at at,
						       const struct nopal_segment *segment)
{
	int kind = nopal_format_kind_of(at.session, segment);
	struct one_to_many *self = nopal_state(at);
	uint64_t fragment = nopal_has(at, ONE_TO_MANY_FRAGMENT)
				    ? nopal_get(at, segment, ONE_TO_MANY_FRAGMENT)
				    : ONE_TO_MANY_LAST;
	struct one_to_many_header header = {
		.flags = ONE_TO_MANY_ACK,
		.number = self->next,
		.cumulative = nopal_get(at, segment, ONE_TO_MANY_CUMULATIVE),
	};

	if (kind > ONE_TO_MANY_PURE_ACK) {
		self->shaken = true;
		header.flags = one_to_many_kind_flags[kind];
		header.number = nopal_get(at, segment, ONE_TO_MANY_SHAKEN_NUMBER);
		header.cumulative = nopal_get(at, segment, ONE_TO_MANY_SHAKEN_CUMULATIVE);
	} else if (kind == ONE_TO_MANY_DATA) {
		header.number = nopal_get(at, segment, ONE_TO_MANY_NUMBER);
		header.flags = header.cumulative ? ONE_TO_MANY_ACK : 0;
		if (!(fragment & ONE_TO_MANY_PLACE))
			header.flags |= ONE_TO_MANY_START;
		if (fragment & ONE_TO_MANY_LAST)
			header.flags |= ONE_TO_MANY_END;
		if (!self->shaken &&
		    header.number == (uint64_t)nopal_shared_get(at, ONE_TO_MANY_LOCAL))
			header.flags |= ONE_TO_MANY_SYN;
		if (header.number >= self->next)
			self->next = header.number + 1;
	}
	return header;
}

static void one_to_many_pack(struct nopal_at at, const struct nopal_segment *segment,
			     struct nopal_writer *writer)
{
	const struct one_to_many_header said = one_to_many_header_of(at, segment);
	uint8_t *header = writer->at;

	nopal_write(writer, ONE_TO_MANY_VERSION, 1);
	nopal_write(writer, one_to_many_stream(at, true), 1);
	nopal_write(writer, one_to_many_stream(at, false), 1);
	nopal_write(writer, said.flags, 1);
	nopal_write(writer, said.number, ONE_TO_MANY_WORD_BYTES);
	nopal_write(writer, said.cumulative, ONE_TO_MANY_WORD_BYTES);
	nopal_write(writer, segment->body.length, ONE_TO_MANY_WORD_BYTES);
	nopal_write(writer, 0, ONE_TO_MANY_WORD_BYTES);
	if (writer->full)
		return;
	writer->at = header + ONE_TO_MANY_CHECKSUM_AT;
	nopal_write(writer,
		    ~one_to_many_covered(at, header, segment->body.bytes, segment->body.length),
		    ONE_TO_MANY_WORD_BYTES);
}

/* ------------------------------------------------------------------- arriving */

/* Reads a header up to the payload.  False: the packet is not whole, or not of this format. */
static bool one_to_many_read(struct nopal_at at, struct nopal_reader *reader,
			     struct one_to_many_header *header)
{
	const uint8_t *start = reader->at;

	header->version = nopal_read(reader, 1);
	header->source = nopal_read(reader, 1);
	header->destination = nopal_read(reader, 1);
	header->flags = nopal_read(reader, 1);
	header->number = nopal_read(reader, ONE_TO_MANY_WORD_BYTES);
	header->cumulative = nopal_read(reader, ONE_TO_MANY_WORD_BYTES);
	header->bytes = nopal_read(reader, ONE_TO_MANY_WORD_BYTES);
	nopal_read(reader, ONE_TO_MANY_WORD_BYTES);
	return !reader->bad && header->version == ONE_TO_MANY_VERSION &&
	       header->bytes == nopal_read_left(reader) &&
	       one_to_many_covered(at, start, reader->at, nopal_read_left(reader)) == UINT32_MAX;
}

/* A chunk of data that opens starts a message, and so is no SYN of a handshake. */
static int one_to_many_seems(uint64_t flags, uint64_t bytes)
{
	if (flags & ONE_TO_MANY_FIN)
		return ONE_TO_MANY_IS_FIN;
	if ((flags & ONE_TO_MANY_SYN) && !(flags & ONE_TO_MANY_START))
		return flags & ONE_TO_MANY_ACK ? ONE_TO_MANY_IS_SYN_ACK : ONE_TO_MANY_IS_SYN;
	return flags == ONE_TO_MANY_ACK && !bytes ? ONE_TO_MANY_PURE_ACK : ONE_TO_MANY_DATA;
}

/* Are the fields those of its kind, and is this the kind that it came as? */
static bool one_to_many_is_sound(const struct one_to_many_header *header, int kind, bool shaken)
{
	bool opens = kind == ONE_TO_MANY_IS_SYN || kind == ONE_TO_MANY_IS_SYN_ACK;

	if (kind != one_to_many_seems(header->flags, header->bytes))
		return false;
	if (kind != ONE_TO_MANY_DATA)
		return header->flags == one_to_many_kind_flags[kind] &&
		       header->bytes == (opens ? ONE_TO_MANY_MSS_BYTES : 0) &&
		       (kind != ONE_TO_MANY_IS_SYN || !header->cumulative);
	return !(header->flags & ~(uint64_t)ONE_TO_MANY_KNOWN) &&
	       !(shaken && (header->flags & ONE_TO_MANY_SYN));
}

static bool one_to_many_unpack(struct nopal_at at, struct nopal_segment *segment,
			       struct nopal_reader *reader)
{
	const struct one_to_many *self = nopal_state(at);
	int kind = nopal_format_kind_of(at.session, segment);
	struct one_to_many_header header;
	uint64_t newest;
	bool told;

	if (!one_to_many_read(at, reader, &header) ||
	    !one_to_many_is_sound(&header, kind, self->shaken) ||
	    header.source != one_to_many_stream(at, false) ||
	    header.destination != one_to_many_stream(at, true))
		return false;
	/* A packet without an acknowledgement number gets one that acknowledges nothing. */
	told = header.flags & ONE_TO_MANY_ACK;
	nopal_set(at, segment, ONE_TO_MANY_CUMULATIVE, told ? header.cumulative : self->next + 1);
	nopal_set(at, segment, ONE_TO_MANY_SHAKEN_CUMULATIVE,
		  told ? header.cumulative : ONE_TO_MANY_NO_CUMULATIVE);
	if (kind != ONE_TO_MANY_DATA) {
		nopal_set(at, segment, ONE_TO_MANY_SHAKEN_NUMBER, header.number);
		return true;
	}
	/* The number nearest to the newest in sequence whose low bits these are.  Before the
	 * session is open the handshake knows the first one. */
	newest = nopal_session_is_open(at.session)
			 ? self->newest
			 : (uint64_t)nopal_shared_get(at, ONE_TO_MANY_PEER);
	nopal_set(at, segment, ONE_TO_MANY_FLAGS, header.flags);
	nopal_set(at, segment, ONE_TO_MANY_NUMBER,
		  newest +
			  (uint64_t)(int64_t)(int32_t)((uint32_t)header.number - (uint32_t)newest));
	return true;
}

static int one_to_many_kind_of(struct nopal_at at, struct nopal_reader datagram)
{
	uint64_t flags, bytes;

	(void)at;
	nopal_read(&datagram, 3);
	flags = nopal_read(&datagram, 1);
	nopal_read(&datagram, 2 * ONE_TO_MANY_WORD_BYTES);
	bytes = nopal_read(&datagram, ONE_TO_MANY_WORD_BYTES);
	return datagram.bad ? ONE_TO_MANY_DATA : one_to_many_seems(flags, bytes);
}

static enum nopal_verdict one_to_many_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	struct one_to_many *self = nopal_state(at);

	(void)subject;
	self->next = (uint64_t)nopal_shared_get(at, ONE_TO_MANY_LOCAL);
	self->newest = (uint64_t)nopal_shared_get(at, ONE_TO_MANY_PEER);
	return NOPAL_CONTINUE;
}

/* A window that is sent again until it is acknowledged begins with the first packet, too. */
static bool one_to_many_opens(struct nopal_at at, struct nopal_reader datagram)
{
	const struct one_to_many_parameters *set = nopal_parameters(at);
	struct one_to_many_header header;

	return one_to_many_read(at, &datagram, &header) &&
	       one_to_many_is_sound(&header, one_to_many_seems(header.flags, header.bytes),
				    false) &&
	       (header.flags & ONE_TO_MANY_SYN) && header.source == (uint64_t)set->opener_stream &&
	       header.destination == (uint64_t)set->listener_stream;
}

/* In sequence, so that the place in the message is one more than the last.  Beyond all places it
 * stays at the last one, which nobody puts there. */
static enum nopal_verdict one_to_many_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	struct one_to_many *self = nopal_state(at);
	uint64_t flags = nopal_get(at, segment, ONE_TO_MANY_FLAGS);

	self->newest = nopal_get(at, segment, ONE_TO_MANY_NUMBER);
	if (flags & ONE_TO_MANY_START)
		self->place = 0;
	else if (self->place < ONE_TO_MANY_PLACE)
		self->place++;
	if (nopal_has(at, ONE_TO_MANY_FRAGMENT))
		nopal_set(at, segment, ONE_TO_MANY_FRAGMENT,
			  self->place | (flags & ONE_TO_MANY_END ? ONE_TO_MANY_LAST : 0));
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_one_to_many = {
	NOPAL_DESCRIBE(one_to_many, format,
		       "the header of the one-to-many protocol: 20 bytes for all it sends"),
	.provides = NOPAL_ROLES({ "data_format", true }),
	.needs = NOPAL_RELATIONS(
		{ "network", "it writes headers of datagrams" },
		{ "segment_numbers", "packets have numbers there" },
		{ "in_sequence",
		  "packets say where a message starts, not which part of it they are" }),
	.excludes =
		NOPAL_RELATIONS({ "integrity", "its trailer would be part of the payload there" }),
	.promises =
		NOPAL_PROMISES(NOPAL_NAMELESS_FORMAT,
			       { NOPAL_INTEGRITY, NOPAL_SEAL_STAGE, NOPAL_GIVES, NOPAL_ACCIDENTS,
				 "the checksum covers the packet", .when = "cover=packet" }),
	.parameters_size = sizeof(struct one_to_many_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(one_to_many, opener_stream, "opener_stream", COUNT, "0", "0", "255",
			     "number of the stream at the opener", .wire = true),
		NOPAL_NUMBER(one_to_many, listener_stream, "listener_stream", COUNT, "0", "0",
			     "255", "and at the listener", .wire = true),
		NOPAL_WORDS(one_to_many, cover, "cover", "header", "header|packet",
			    "of the checksum", .wire = true)),
	.attributes = NOPAL_ATTRIBUTES([ONE_TO_MANY_NUMBER] = { "segment_number", NOPAL_READ },
				       [ONE_TO_MANY_CUMULATIVE] = { "cumulative_ack", NOPAL_READ },
				       [ONE_TO_MANY_FRAGMENT] = { "fragment", NOPAL_READ_OPTIONAL },
				       [ONE_TO_MANY_FLAGS] = { "packet_flags", NOPAL_WRITE,
							       "of the packet that it came in" },
				       [ONE_TO_MANY_SHAKEN_NUMBER] = { "handshake_number",
								       NOPAL_READ_OPTIONAL },
				       [ONE_TO_MANY_SHAKEN_CUMULATIVE] = { "handshake_cumulative",
									   NOPAL_READ_OPTIONAL }),
	.shared = NOPAL_SHARED([ONE_TO_MANY_LOCAL] = { "initial_local", NOPAL_READ_OPTIONAL, 1,
						       "our first number" },
			       [ONE_TO_MANY_PEER] = { "initial_peer", NOPAL_READ_OPTIONAL, 1,
						      "the peer's first number" }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(SESSION_OPENED, one_to_many_on_opened),
		NOPAL_ON(SEGMENT_VERIFIED, one_to_many_on_verified, .before = "message_segments")),
	.state_size = sizeof(struct one_to_many),
	.format =
		&(const struct nopal_format){
			.interop = true,
			.bytes = ONE_TO_MANY_HEADER_BYTES,
			.carries = (const char *const[]){ "segment_number", "cumulative_ack",
							  "fragment", NULL },
			.pack = one_to_many_pack,
			.unpack = one_to_many_unpack,
			.opens = one_to_many_opens,
			.kinds =
				(const struct nopal_format_kind[]){
					[ONE_TO_MANY_PURE_ACK] = { "go_back_n", "ack" },
					[ONE_TO_MANY_IS_SYN] = { "three_way", "syn" },
					[ONE_TO_MANY_IS_SYN_ACK] = { "three_way", "syn_ack" },
					[ONE_TO_MANY_IS_FIN] = { "three_way", "fin" },
					[ONE_TO_MANY_CONFIRM] = { "three_way", "ack" },
					{ 0 } },
			.kind_of = one_to_many_kind_of },
};
