/* SPDX-License-Identifier: MIT */
/*
 * wire.c -- attributes to header bytes and back, by the plan's header plan.
 *
 *   byte 0     version (3 bits), kind (5 bits)
 *   bytes 1-4  the receiver's session id
 *   fields     attributes that travel on this kind, big endian, fixed widths
 *   body
 *   trailer    of the sealing stage
 *
 * A part may write the fields of data in a format of its own, in an interop format without our
 * first five bytes; and where sessions are found by address data carry no session id.  A datagram
 * is parsed once, bounds first, into a segment; nothing else looks at its bytes.  docs/wire.md has
 * the whole format.
 */
#include <string.h>

#include "wire/wire.h"
#include "engine/segment.h"
#include "engine/turn.h"
#include "session/session.h"

enum {
	WIRE_VERSION = 1,
	WIRE_KIND_BITS = 5,
	BITS_PER_BYTE = 8,
	FETCH_FROM_BYTES = 1024, /* shorter bodies come from anywhere */
	HEADER_ROOM = 512,	 /* first byte, id, fingerprint, fields */
};

uint8_t nopal__first_byte(uint8_t kind)
{
	return (uint8_t)(WIRE_VERSION << WIRE_KIND_BITS | kind);
}

bool nopal__first_byte_parse(uint8_t byte, uint8_t *ret_kind)
{
	*ret_kind = byte & ((1 << WIRE_KIND_BITS) - 1);
	return byte >> WIRE_KIND_BITS == WIRE_VERSION;
}

NOPAL_HOT void nopal_serial_seen(struct nopal_at at, unsigned which, uint64_t value)
{
	struct nopal_composite *composite = nopal__composite(at.session);
	uint8_t index = nopal__plan(composite)->serial_of[at.part->attribute[which]];

	if (index)
		composite->awake->serial[index - 1] = value;
}

NOPAL_HOT static void get_header(const struct nopal_composite *composite,
				 struct nopal_segment *segment, const uint8_t *at)
{
	const struct nopal_plan *plan = nopal__plan(composite);

	if (segment->kind == NOPAL_KIND_DATA)
		nopal__fields_get(composite, &plan->kinds[NOPAL_KIND_DATA].header, segment, at);
	else
		nopal__fields_get(composite, &plan->kinds[segment->kind].header, segment, at);
}

/* Before the fields: first byte, session id; of an introduction first byte, id, fingerprint, and
 * the kind, where it is not data. */
static uint32_t head_bytes(const struct nopal_composite *composite, uint8_t kind, bool opening)
{
	return opening ? 1u + NOPAL_ID_BYTES + NOPAL_FINGERPRINT_BYTES + (kind != NOPAL_KIND_DATA)
		       : nopal__plan(composite)->head_bytes;
}

/* A peer that has not told its session id gets the whole introduction, with control where it fits;
 * where there is no handshake, now and then again. */
static bool introduces(const struct nopal_composite *composite, const struct nopal_segment *segment)
{
	const struct nopal_plan *plan = nopal__plan(composite);
	uint8_t kind = segment->kind;

	if (plan->admission || !composite->opener || plan->demux == NOPAL_DEMUX_INTEROP ||
	    kind == NOPAL_KIND_ABORT)
		return false;
	if (kind == NOPAL_KIND_DATA)
		return !composite->peer_known ||
		       composite->session.now_ns - composite->awake->introduced_ns >=
			       NOPAL_SILENCE_NS / 2;
	return !composite->peer_known &&
	       head_bytes(composite, kind, true) + plan->kinds[kind].header.bytes +
			       segment->body.length + plan->trailer_bytes <=
		       plan->datagram_bytes;
}

/* Of a segment with fields of fixed widths; a format of one's own has at least no fewer than
 * none. */
static uint32_t datagram_bytes(const struct nopal_composite *composite,
			       const struct nopal_segment *segment)
{
	const struct nopal_plan *plan = nopal__plan(composite);
	bool formatted = plan->kinds[segment->kind].formatted;

	return head_bytes(composite, segment->kind, introduces(composite, segment)) +
	       (formatted ? 0 : plan->kinds[segment->kind].header.bytes) + segment->body.length +
	       plan->trailer_bytes;
}

NOPAL_HOT static bool endpoint_may_leave(struct nopal_composite *composite,
					 const struct nopal_segment *segment)
{
	return nopal__train_ready(composite, datagram_bytes(composite, segment));
}

static inline uint8_t *put_head(struct nopal_composite *composite, uint8_t kind, bool opening,
				uint8_t *at)
{
	const struct nopal_plan *plan = nopal__plan(composite);

	if (plan->demux == NOPAL_DEMUX_INTEROP)
		return at;
	if (!opening) {
		*at++ = nopal__first_byte(kind);
		return plan->demux == NOPAL_DEMUX_ID
			       ? nopal__put(at, composite->peer_id, NOPAL_ID_BYTES)
			       : at;
	}
	composite->awake->introduced_ns = composite->session.now_ns;
	*at++ = nopal__first_byte(kind == NOPAL_KIND_DATA ? NOPAL_KIND_DATA_OPENING
							  : NOPAL_KIND_CONTROL_OPENING);
	at = nopal__put(at, composite->local_id, NOPAL_ID_BYTES);
	at = nopal__put(at, plan->info.fingerprint, NOPAL_FINGERPRINT_BYTES);
	if (kind != NOPAL_KIND_DATA)
		*at++ = kind;
	return at;
}

/* To the train.  A datagram that is longer than the path is thought to take goes alone: a probe, or
 * one that was cut for a longer path. */
static inline void add_out(struct nopal_composite *composite, struct nopal_endpoint *endpoint,
			   const struct nopal_segment *segment, uint32_t bytes)
{
	const struct nopal_plan *plan = nopal__plan(composite);

	nopal__train_add_open(composite, endpoint, bytes);
	if (bytes > nopal_path_limit(&composite->session))
		nopal__train_end_long(endpoint,
				      plan->kinds[segment->kind].class == NOPAL_KIND_CARRIED);
}

/* The length of the header is known when it is written: before its place is. */
static void pack_formatted(struct nopal_composite *composite, struct nopal_way way,
			   const struct nopal_segment *segment)
{
	const struct nopal_plan *plan = nopal__plan(composite);
	bool opening = introduces(composite, segment);
	uint8_t header[HEADER_ROOM], *start;
	struct nopal_writer writer = nopal_writer_over(header, sizeof(header));
	uint32_t bytes;

	writer.at = put_head(composite, segment->kind, opening, header);
	plan->format->microprotocol->format->pack(
		(struct nopal_at){ &composite->session, plan->format }, segment, &writer);
	bytes = nopal_written(&writer);
	start = nopal__train_room(composite, way,
				  bytes + segment->body.length + plan->trailer_bytes);
	if (!start)
		return;
	memcpy(start, header, bytes);
	if (segment->body.length)
		memcpy(start + bytes, segment->body.bytes, segment->body.length);
	add_out(composite, way.endpoint, segment,
		bytes + segment->body.length + plan->trailer_bytes);
}

/* Data are told apart for their header's sake.  Bodies mostly leave in the order in which they lie
 * in memory: the next one begins to be fetched while this one leaves. */
static inline __attribute__((always_inline)) void pack(struct nopal_composite *composite,
						       struct nopal_way way,
						       const struct nopal_segment *segment)
{
	const struct nopal_plan *plan = nopal__plan(composite);
	const struct nopal_body *body = &segment->body;
	bool opening = introduces(composite, segment);
	uint32_t bytes = datagram_bytes(composite, segment);
	const uint8_t *behind;
	uint8_t *at;

	if (plan->kinds[segment->kind].formatted) {
		pack_formatted(composite, way, segment);
		return;
	}
	at = nopal__train_room(composite, way, bytes);
	if (!at)
		return;
	at = put_head(composite, segment->kind, opening, at);
	if (segment->kind == NOPAL_KIND_DATA)
		at = nopal__fields_put(&plan->kinds[NOPAL_KIND_DATA].header, segment, at);
	else
		at = nopal__fields_put(&plan->kinds[segment->kind].header, segment, at);
	if (body->length)
		memcpy(at, body->bytes, body->length);
	add_out(composite, way.endpoint, segment, bytes);
	if (body->length < FETCH_FROM_BYTES)
		return; /* there may be no bytes at all */
	behind = body->bytes + body->length;
	for (uint32_t ahead = 0; ahead < body->length; ahead += 4 * NOPAL_CACHE_LINE) {
		__builtin_prefetch(behind + ahead);
		__builtin_prefetch(behind + ahead + NOPAL_CACHE_LINE);
		__builtin_prefetch(behind + ahead + 2 * NOPAL_CACHE_LINE);
		__builtin_prefetch(behind + ahead + 3 * NOPAL_CACHE_LINE);
	}
}

/* A peer that does not know the session yet hears of it by the first path.  No later datagram of
 * the session joins a train on another path. */
void nopal__pack_by(struct nopal_composite *composite, const struct nopal_segment *segment,
		    unsigned path)
{
	const struct nopal_paths *paths = composite->awake->paths;
	struct nopal_way way = nopal__first_way(composite);

	if (path && (!paths || path >= NOPAL_PATHS_MAX || introduces(composite, segment)))
		return;
	if (path)
		way = (struct nopal_way){ paths->path[path].endpoint, &paths->path[path].peer };
	if (!way.endpoint || !nopal__train_turn(way))
		return;
	pack(composite, way, segment);
	if (path && way.endpoint == composite->endpoint)
		way.endpoint->train_closed = true;
}

void nopal__pack_out(struct nopal_composite *composite, const struct nopal_segment *segment)
{
	pack(composite, nopal__first_way(composite), segment);
	if (!nopal__plan(composite)->many_paths || !composite->awake->paths ||
	    composite->life == NOPAL_LIFE_OPENING)
		return;
	for (unsigned path = 1; path < NOPAL_PATHS_MAX; path++)
		if (composite->awake->paths->open >> path & 1)
			nopal__pack_by(composite, segment, path);
}

int nopal_format_kind_of(const struct nopal_session *session, const struct nopal_segment *segment)
{
	const struct nopal_plan *plan = nopal__plan(nopal__composite(session));

	return plan->kinds[segment->kind].formatted - 2;
}

/* For a format that has data alone, all datagrams are data.  Not inlined: its reader on the stack
 * would cost all other datagrams a check. */
__attribute__((noinline)) uint8_t nopal__interop_kind(const struct nopal_plan *plan,
						      const uint8_t *bytes, uint32_t length)
{
	const struct nopal_format *format = plan->format->microprotocol->format;
	const struct nopal_reader datagram = nopal_reader_over(bytes, length);
	int which;

	if (!format->kind_of)
		return NOPAL_KIND_DATA;
	which = format->kind_of((struct nopal_at){ .part = plan->format }, datagram);
	return which < 0 || which >= NOPAL_FORMAT_KINDS ? NOPAL_KIND_DATA
							: plan->format_code[which];
}

/* Fields and body of a datagram in a format of its own; false: malformed. */
static inline bool get_format(struct nopal_composite *composite, struct nopal_segment *segment,
			      const uint8_t *bytes, uint32_t length)
{
	const struct nopal_part *part = nopal__plan(composite)->format;
	struct nopal_reader reader = nopal_reader_over(bytes, length);

	if (!part->microprotocol->format->unpack((struct nopal_at){ &composite->session, part },
						 segment, &reader) ||
	    reader.bad)
		return false;
	segment->body.bytes = reader.at;
	segment->body.length = (uint32_t)nopal_read_left(&reader);
	return true;
}

NOPAL_HOT struct nopal_segment *nopal__unpack(struct nopal_composite *composite, uint8_t kind,
					      struct nopal_buffer *buffer, uint8_t *bytes,
					      uint32_t length, uint32_t skip)
{
	const struct nopal_plan *plan = nopal__plan(composite);
	bool formatted = plan->kinds[kind].formatted;
	uint32_t fields = formatted ? 0 : plan->kinds[kind].header.bytes;
	uint32_t min = skip + fields + plan->trailer_bytes;
	struct nopal_segment *segment;

	if (!plan->kinds[kind].name || length < min) {
		composite->awake->counters.rx_malformed++;
		return NULL;
	}
	if (plan->seal && !plan->seal->microprotocol->seal->open(
				  (struct nopal_at){ &composite->session, plan->seal }, bytes,
				  length - plan->trailer_bytes)) {
		composite->awake->counters.rx_sealed_badly++;
		return NULL;
	}
	segment = nopal__segment_make(composite, kind);
	if (!segment) {
		composite->awake->counters.rx_over_budget++;
		return NULL;
	}
	segment->incoming = true;
	segment->ecn = composite->endpoint->arrived_ecn;
	segment->path = plan->many_paths ? nopal__path_of_arrival(composite) : 0;
	segment->transmitted_ns = composite->session.now_ns;
	segment->body = (struct nopal_body){ nopal_buffer_ref(buffer), bytes + skip + fields,
					     length - min };
	if (!formatted) {
		get_header(composite, segment, bytes + skip);
	} else if (!get_format(composite, segment, bytes + skip, length - min)) {
		composite->awake->counters.rx_malformed++;
		nopal__segment_free(composite, segment);
		return NULL;
	}
	if (nopal__layer(composite)->packet_number_slot)
		segment->packet_number =
			segment->attribute[nopal__layer(composite)->packet_number_slot];
	return segment;
}

void nopal__session_receive(struct nopal_composite *composite, uint8_t kind,
			    struct nopal_buffer *buffer, uint8_t *bytes, uint32_t length)
{
	const struct nopal_part *connection;
	struct nopal_segment *segment;

	nopal__touch(composite);
	if (composite->life == NOPAL_LIFE_ENDED)
		return;
	if (nopal__plan(composite)->demux == NOPAL_DEMUX_INTEROP)
		kind = nopal__interop_kind(nopal__plan(composite), bytes, length);
	composite->awake->counters.datagrams_in++;
	composite->awake->counters.datagram_bytes_in += length;
	if (kind == NOPAL_KIND_REPLY) {
		nopal__reply_receive(composite, buffer, bytes, length);
		return;
	}
	/* before its session is open an opener cannot read numbers: only kinds of the opening
	 * count */
	connection = nopal__layer(composite)->connection;
	if (connection && composite->opener && composite->life == NOPAL_LIFE_OPENING &&
	    nopal__plan(composite)->kinds[kind].part != connection && kind != NOPAL_KIND_ABORT)
		return;
	segment = nopal__unpack(composite, kind, buffer, bytes, length,
				nopal__plan(composite)->head_bytes);
	if (!segment)
		return;
	composite->awake->heard_ns = composite->session.now_ns;
	if (segment->path && nopal__path_is_elsewhere(composite, segment))
		nopal__segment_free(composite, segment);
	else if (kind == NOPAL_KIND_ABORT)
		nopal__farewell_receive(composite, segment);
	else
		nopal__segment_arrive(composite, segment);
}

/* ------------------------------------------------ bytes that redundancy codes */

uint32_t nopal_segment_pack(struct nopal_session *session, const struct nopal_segment *segment,
			    uint8_t *bytes, uint32_t room)
{
	const struct nopal_header *header = &nopal__layer(nopal__composite(session))->coded;
	uint32_t length = header->bytes + segment->body.length;

	if (length > room)
		return 0;
	bytes = nopal__fields_put(header, segment, bytes);
	if (segment->body.length)
		memcpy(bytes, segment->body.bytes, segment->body.length);
	return length;
}

struct nopal_segment *nopal_segment_unpack(struct nopal_session *session, const uint8_t *bytes,
					   uint32_t length)
{
	struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_header *header = &nopal__layer(composite)->coded;
	struct nopal_segment *segment;
	struct nopal_buffer *buffer;

	if (length < header->bytes)
		return NULL;
	buffer = nopal_body_buffer(session, length - header->bytes);
	segment = buffer ? nopal__segment_make(composite, NOPAL_KIND_DATA) : NULL;
	if (!segment) {
		nopal_buffer_unref(buffer);
		return NULL;
	}
	segment->incoming = true;
	segment->ecn = composite->endpoint->arrived_ecn;
	segment->path = 0;
	segment->transmitted_ns = session->now_ns;
	nopal__fields_get(composite, header, segment, bytes);
	memcpy(buffer->bytes, bytes + header->bytes, length - header->bytes);
	segment->body = (struct nopal_body){ buffer, buffer->bytes, length - header->bytes };
	composite->awake->counters.segments_rebuilt++;
	return segment;
}

void nopal_segment_drop(struct nopal_session *session, struct nopal_segment *segment)
{
	nopal__segment_free(nopal__composite(session), segment);
}

uint32_t nopal_pack_limit(const struct nopal_session *session)
{
	const struct nopal_composite *composite = nopal__composite(session);

	return nopal__layer(composite)->coded.bytes + nopal_body_max(session);
}

/* Where no part asks the path, the plan's numbers count, which are for IPv4. */
NOPAL_HOT static uint32_t path_short(const struct nopal_session *session)
{
	const struct nopal_composite *composite = nopal__composite(session);
	const struct nopal_plan *plan = nopal__plan(composite);

	if (plan->path_floor == plan->datagram_bytes)
		return composite->by_ipv6 ? NOPAL_IPV6_MORE : 0;
	while (composite->below)
		composite = composite->below;
	return composite->awake->path_short;
}

uint32_t nopal_body_limit(const struct nopal_session *session)
{
	return nopal_body_max(session) - path_short(session);
}

uint32_t nopal_body_max(const struct nopal_session *session)
{
	return nopal__layer(nopal__composite(session))->body_bytes;
}

uint32_t nopal_path_limit(const struct nopal_session *session)
{
	return nopal_path_max(session) - path_short(session);
}

uint32_t nopal_path_max(const struct nopal_session *session)
{
	return nopal__plan(nopal__composite(session))->datagram_bytes;
}

uint32_t nopal_control_limit(struct nopal_at at, unsigned kind)
{
	const struct nopal_composite *composite = nopal__composite(at.session);
	const struct nopal_plan *plan = nopal__plan(composite);
	uint8_t code = at.part->kind[kind];
	uint32_t path = nopal_path_limit(at.session);

	if (!nopal__is_lowest(composite))
		return nopal__layer(composite)->below_takes - path_short(at.session);
	if (plan->kinds[code].formatted)
		path -= plan->format->microprotocol->format->bytes;
	else if (code == NOPAL_KIND_CONNECT)
		return path - 1 - NOPAL_ID_BYTES - NOPAL_FINGERPRINT_BYTES - NOPAL_CHECK_BYTES;
	return path - plan->head_bytes - plan->kinds[code].header.bytes - plan->trailer_bytes;
}

const struct nopal_field *nopal_data_fields(const struct nopal_session *session,
					    unsigned *ret_count)
{
	const struct nopal_header *header =
		&nopal__plan(nopal__composite(session))->kinds[NOPAL_KIND_DATA].header;

	*ret_count = header->count;
	return header->fields;
}

uint64_t nopal_field_expand(const struct nopal_session *session, const struct nopal_field *field,
			    uint64_t truncated)
{
	return nopal__serial_expand(nopal__composite(session)->awake->serial[field->reference],
				    truncated, field->bytes);
}

/* ------------------------------------------- an endpoint, below its sessions */

static bool endpoint_push(struct nopal_composite *composite, struct nopal_segment *segment)
{
	nopal__pack_out(composite, segment);
	return false;
}

static void endpoint_control(struct nopal_composite *composite, struct nopal_segment *segment)
{
	if (segment->kind == NOPAL_KIND_CONNECT &&
	    nopal__plan(composite)->demux != NOPAL_DEMUX_INTEROP)
		nopal__opening_pack(composite, segment);
	else
		nopal__pack_out(composite, segment);
}

const struct nopal_down nopal__endpoint_down = {
	.name = "endpoint",
	.leaves = true,
	.may_leave = endpoint_may_leave,
	.push = endpoint_push,
	.control = endpoint_control,
	.control_by = nopal__pack_by,
	.watch = nopal__doubt_look,
	.closed = nopal__session_closed_well,
};
