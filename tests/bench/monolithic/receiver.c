/* SPDX-License-Identifier: MIT */
/*
 * receiver.c -- data in, messages out, acks and windows back.
 *
 * In order is the common case: a datagram is checked, and its body becomes the next piece of the
 * message at the floor, where it lies.  What comes early waits in a ring by number.  A message is
 * whole when the floor passes its last segment, so the order of messages costs nothing more.
 */
#include <stdlib.h>

#include "engine/composite.h"
#include "connection.h"
#include <nopal/microprotocol.h>

enum {
	RECEIVER_AT_FIRST = 256, /* room of the rings */
	RECEIVER_TELL_PART = 4,	 /* of the window: when to tell its edge */
	ACK_BYTE = 8,		 /* bits */
	ACK_HEAD = 10,
	ACK_FLOOR_AT = 4,
	ACK_DELAY_AT = 8,
	ACK_PART = 1 << 15,
};
static const int64_t ACK_DELAY_UNIT_NS = 8 * NOPAL_MICROSECOND;

void monolith__receiver_begin(struct monolith_connection *connection, uint64_t first)
{
	const struct monolith_setup *setup = connection->setup;
	struct monolith_receiver *receiver = &connection->receiver;
	uint64_t body = setup->body_bytes;

	receiver->floor = receiver->end = receiver->first = first;
	receiver->highest = first;
	receiver->granted = first + (uint64_t)setup->edge_initial;
	receiver->told = receiver->granted;
	receiver->told_end = first;
	receiver->grant = ((uint64_t)setup->buffer_bytes + body - 1) / body;
	if (receiver->grant < (uint64_t)setup->edge_initial)
		receiver->grant = (uint64_t)setup->edge_initial;
	if (receiver->grant > (uint64_t)setup->filter_window)
		receiver->grant = (uint64_t)setup->filter_window;
}

__attribute__((cold, noinline)) static void receiver_fail(struct monolith_connection *connection,
							  enum nopal_end end, const char *text)
{
	monolith__end(connection, end, text);
}

/* ------------------------------------------------------- the message at the floor */

__attribute__((cold, noinline)) static bool pieces_grow(struct monolith_connection *connection)
{
	struct monolith_receiver *receiver = &connection->receiver;
	uint32_t room = receiver->piece_room ? receiver->piece_room * 2 : MONOLITH_WORD;
	struct monolith_piece *pieces = realloc(receiver->pieces, room * sizeof(*pieces));
	struct nopal_buffer **held;

	if (pieces)
		receiver->pieces = pieces;
	held = realloc(receiver->held, room * sizeof(struct nopal_buffer *));
	if (held)
		receiver->held = held;
	if (!pieces || !held) {
		receiver_fail(connection, NOPAL_RESOURCE, "no memory for a message that arrives");
		return false;
	}
	receiver->piece_room = room;
	return true;
}

static void pieces_drop(struct monolith_receiver *receiver)
{
	for (uint32_t i = 0; i < receiver->held_count; i++)
		nopal_buffer_unref(receiver->held[i]);
	receiver->held_count = 0;
	receiver->held_last = NULL;
	receiver->piece_count = 0;
	receiver->message_bytes = 0;
}

__attribute__((noinline)) static void message_deliver(struct monolith_connection *connection)
{
	struct monolith_receiver *receiver = &connection->receiver;
	const struct monolith_message message = {
		.pieces = receiver->pieces,
		.count = receiver->piece_count,
		.length = receiver->message_bytes,
	};

	connection->counters.bytes_delivered += message.length;
	if (connection->callbacks->received)
		connection->callbacks->received(connection, &message, connection->user);
	pieces_drop(receiver);
}

/* The segment at the floor.  Many pieces of one buffer hold it once. */
static inline void piece_add(struct monolith_connection *connection, struct nopal_buffer *buffer,
			     const uint8_t *bytes, uint32_t length, uint16_t fragment)
{
	struct monolith_receiver *receiver = &connection->receiver;

	if ((fragment & ~MONOLITH_LAST) != receiver->piece_count) {
		receiver_fail(connection, NOPAL_ABORTED, "the peer's segments do not join");
		return;
	}
	if (receiver->piece_count == receiver->piece_room && !pieces_grow(connection))
		return;
	receiver->pieces[receiver->piece_count++] = (struct monolith_piece){ bytes, length };
	receiver->message_bytes += length;
	if (buffer != receiver->held_last) {
		receiver->held[receiver->held_count++] = nopal_buffer_ref(buffer);
		receiver->held_last = buffer;
	}
	if (fragment & MONOLITH_LAST)
		message_deliver(connection);
}

/* -------------------------------------------------------------- out of order */

static bool is_seen(const struct monolith_receiver *receiver, uint64_t number)
{
	uint64_t place = number & receiver->early_mask;

	return receiver->seen[place / MONOLITH_WORD] >> place % MONOLITH_WORD & 1;
}

static void see(struct monolith_receiver *receiver, uint64_t number)
{
	uint64_t place = number & receiver->early_mask;

	receiver->seen[place / MONOLITH_WORD] ^= UINT64_C(1) << place % MONOLITH_WORD;
}

/* Rings with a place for a number so far above the floor. */
static bool early_grow(struct monolith_connection *connection, uint64_t above)
{
	struct monolith_receiver *receiver = &connection->receiver;
	struct monolith_receiver grown = *receiver;
	uint64_t room = RECEIVER_AT_FIRST;

	while (room <= above + MONOLITH_WORD)
		room *= 2;
	grown.early_mask = (uint32_t)room - 1;
	grown.early = calloc(room, sizeof(*grown.early));
	grown.seen = calloc(room / MONOLITH_WORD, sizeof(*grown.seen));
	if (!grown.early || !grown.seen) {
		free(grown.early);
		free(grown.seen);
		receiver_fail(connection, NOPAL_RESOURCE, "no memory for segments that came early");
		return false;
	}
	for (uint64_t number = receiver->floor; number < receiver->end; number++)
		if (is_seen(receiver, number)) {
			see(&grown, number);
			grown.early[number & grown.early_mask] =
				receiver->early[number & receiver->early_mask];
		}
	free(receiver->early);
	free(receiver->seen);
	*receiver = grown;
	return true;
}

static void early_keep(struct monolith_connection *connection, struct nopal_buffer *buffer,
		       uint64_t number, const struct monolith_early *early)
{
	struct monolith_receiver *receiver = &connection->receiver;
	uint64_t above = number - receiver->floor;

	if ((!receiver->early || above + MONOLITH_WORD > receiver->early_mask) &&
	    !early_grow(connection, above))
		return;
	see(receiver, number);
	receiver->early[number & receiver->early_mask] = *early;
	receiver->early[number & receiver->early_mask].buffer = nopal_buffer_ref(buffer);
	if (number >= receiver->end)
		receiver->end = number + 1;
}

/* The hole at the floor was filled: what waited behind it follows. */
static void early_follow(struct monolith_connection *connection)
{
	struct monolith_receiver *receiver = &connection->receiver;

	while (receiver->floor < receiver->end && is_seen(receiver, receiver->floor) &&
	       connection->life != MONOLITH_LIFE_ENDED) {
		const struct monolith_early early =
			receiver->early[receiver->floor & receiver->early_mask];

		see(receiver, receiver->floor++);
		piece_add(connection, early.buffer, early.bytes, early.length, early.fragment);
		nopal_buffer_unref(early.buffer);
	}
}

void monolith__receiver_free(struct monolith_connection *connection)
{
	struct monolith_receiver *receiver = &connection->receiver;

	for (uint64_t number = receiver->floor; receiver->early && number < receiver->end; number++)
		if (is_seen(receiver, number))
			nopal_buffer_unref(receiver->early[number & receiver->early_mask].buffer);
	pieces_drop(receiver);
	free(receiver->pieces);
	free(receiver->held);
	free(receiver->early);
	free(receiver->seen);
}

/* -------------------------------------------------------------------- arrivals */

/* Not the next one of a stream without holes. */
__attribute__((cold, noinline)) static void odd_arrival(struct monolith_connection *connection,
							struct nopal_buffer *buffer,
							const struct monolith_early *segment,
							uint32_t wire)
{
	struct monolith_receiver *receiver = &connection->receiver;
	uint64_t number = monolith_near(receiver->end, wire);

	if (number < receiver->floor || (number < receiver->end && is_seen(receiver, number))) {
		receiver->at_once = true;
		return;
	}
	if (number >= receiver->granted)
		return;
	receiver->at_once = true;
	if (number != receiver->floor) {
		early_keep(connection, buffer, number, segment);
		return;
	}
	receiver->floor++;
	piece_add(connection, buffer, segment->bytes, segment->length, segment->fragment);
	if (receiver->floor > receiver->end)
		receiver->end = receiver->floor;
	else
		early_follow(connection);
}

/* A segment whose datagram is good: `length` is that of its body. */
static inline void segment_arrive(struct monolith_connection *connection,
				  struct nopal_buffer *buffer, const uint8_t *bytes,
				  uint32_t length)
{
	struct monolith_receiver *receiver = &connection->receiver;
	uint32_t number = monolith_get32(bytes + MONOLITH_NUMBER_AT);
	uint16_t fragment = monolith_get16(bytes + MONOLITH_FRAGMENT_AT);
	int32_t newer =
		(int32_t)(monolith_get32(bytes + MONOLITH_PACKET_AT) - (uint32_t)receiver->latest);

	if (newer > 0 || !receiver->latest_ns) {
		receiver->latest += (uint64_t)(newer > 0 ? newer : 0);
		receiver->latest_ns = connection->now_ns;
	}
	receiver->unacked++;
	bytes += MONOLITH_DATA_HEAD;
	if (number == (uint32_t)receiver->floor && receiver->floor == receiver->end &&
	    receiver->end < receiver->granted) {
		receiver->floor = ++receiver->end;
		piece_add(connection, buffer, bytes, length, fragment);
	} else {
		const struct monolith_early segment = { .bytes = bytes,
							.length = length,
							.fragment = fragment };

		odd_arrival(connection, buffer, &segment, number);
	}
}

/* Is the datagram as it left? */
static inline bool datagram_check(struct monolith_connection *connection, const uint8_t *bytes,
				  uint32_t length, uint32_t trailer)
{
	if (length < MONOLITH_DATA_HEAD + trailer) {
		connection->counters.malformed++;
		return false;
	}
	length -= trailer;
	if (trailer && nopal__crc32c(bytes, length) != monolith_get32(bytes + length)) {
		connection->counters.sealed_badly++;
		return false;
	}
	return true;
}

uint32_t monolith__data_receive(struct monolith_connection *connection,
				const struct nopal_arrival *arrival, uint32_t at, uint32_t stride)
{
	uint32_t trailer = connection->setup->trailer_bytes;
	uint32_t head = MONOLITH_DATA_HEAD + trailer;
	uint32_t end = arrival->length;
	bool open = monolith__confirm(connection);

	do {
		const uint8_t *bytes = arrival->bytes + at;
		uint32_t length = end - at < stride ? end - at : stride;

		if (length < MONOLITH_HEAD || memcmp(bytes, connection->data_head, MONOLITH_HEAD))
			break;
		at += stride;
		connection->counters.datagrams_in++;
		if (datagram_check(connection, bytes, length, trailer) && open &&
		    connection->life != MONOLITH_LIFE_ENDED)
			segment_arrive(connection, arrival->buffer, bytes, length - head);
	} while (at < end);
	return at;
}

/* --------------------------------------------------------------- what is told */

void monolith__window_asked(struct monolith_connection *connection, const uint8_t *body,
			    uint32_t length)
{
	struct monolith_receiver *receiver = &connection->receiver;
	uint64_t next;

	if (length != sizeof(uint32_t))
		return;
	next = monolith_near(receiver->granted, monolith_get32(body));
	if (next > receiver->granted)
		return;
	receiver->asked = true;
	if (next > receiver->highest)
		receiver->highest = next;
}

static void window_tell(struct monolith_connection *connection)
{
	struct monolith_receiver *receiver = &connection->receiver;
	uint64_t initial = (uint64_t)connection->setup->edge_initial;
	uint64_t edge = receiver->floor + receiver->grant;
	uint8_t *body;

	if (edge > receiver->granted)
		receiver->granted = edge;
	if (receiver->end > receiver->highest)
		receiver->highest = receiver->end;
	/* The first window may have been lost: the peer lives on `initial`. */
	if (!receiver->asked &&
	    receiver->granted - receiver->told < receiver->grant / RECEIVER_TELL_PART &&
	    (receiver->highest > receiver->first + initial ||
	     (receiver->end - receiver->told_end) * RECEIVER_TELL_PART < initial))
		return;
	receiver->asked = false;
	receiver->told = receiver->granted;
	receiver->told_end = receiver->end;
	body = monolith__control_begin(connection, sizeof(uint32_t));
	if (!body)
		return;
	monolith_put32(body, (uint32_t)receiver->granted);
	monolith__control_end(connection, MONOLITH_WINDOW, sizeof(uint32_t));
}

/* 64 bits of what was seen from `from` on. */
static uint64_t seen_word(const struct monolith_receiver *receiver, uint64_t from)
{
	uint64_t place = from & receiver->early_mask;
	uint64_t next = (from + MONOLITH_WORD) & receiver->early_mask;
	unsigned shift = place % MONOLITH_WORD;
	uint64_t word = receiver->seen[place / MONOLITH_WORD] >> shift;

	if (shift)
		word |= receiver->seen[next / MONOLITH_WORD] << (MONOLITH_WORD - shift);
	return word;
}

/* Writes `bytes` bytes of bitmap; the last one that is written is not 0. */
static uint32_t bitmap_write(const struct monolith_receiver *receiver, uint8_t *at, uint64_t from,
			     uint32_t bytes)
{
	for (uint32_t done = 0; done < bytes; done += sizeof(uint64_t)) {
		uint32_t left = bytes - done;
		uint64_t word = htole64(seen_word(receiver, from + done * ACK_BYTE));

		memcpy(at + done, &word, left < sizeof(word) ? left : sizeof(word));
	}
	while (bytes && !at[bytes - 1])
		bytes--;
	return bytes;
}

/* Where the bitmap begins; of one that does not fit the end is told, which was seen. */
static uint64_t bitmap_from(const struct monolith_receiver *receiver, uint32_t room,
			    uint32_t *ret_bytes)
{
	uint64_t above = receiver->end - receiver->floor;

	*ret_bytes = above ? (uint32_t)((above - 1 + ACK_BYTE - 1) / ACK_BYTE) : 0;
	if (*ret_bytes <= room)
		return receiver->floor + 1;
	*ret_bytes = room - (uint32_t)sizeof(uint32_t);
	return receiver->end - *ret_bytes * ACK_BYTE;
}

void monolith__ack_send(struct monolith_connection *connection)
{
	const struct monolith_setup *setup = connection->setup;
	struct monolith_receiver *receiver = &connection->receiver;
	uint32_t room = setup->datagram_bytes - MONOLITH_HEAD - setup->trailer_bytes - ACK_HEAD;
	uint32_t bytes, head = ACK_HEAD;
	uint64_t from = bitmap_from(receiver, room, &bytes);
	bool part = from != receiver->floor + 1;
	int64_t units = (connection->now_ns - receiver->latest_ns) / ACK_DELAY_UNIT_NS;
	uint8_t *body =
		monolith__control_begin(connection, ACK_HEAD + (uint32_t)sizeof(uint32_t) + bytes);

	if (!body)
		return;
	if (units >= ACK_PART)
		units = ACK_PART - 1;
	monolith_put32(body, (uint32_t)receiver->latest);
	monolith_put32(body + ACK_FLOOR_AT, (uint32_t)receiver->floor);
	monolith_put16(body + ACK_DELAY_AT, (uint16_t)(units | (part ? ACK_PART : 0)));
	if (part) {
		monolith_put32(body + head, (uint32_t)from);
		head += (uint32_t)sizeof(uint32_t);
	}
	bytes = bitmap_write(receiver, body + head, from, bytes);
	monolith__control_end(connection, MONOLITH_ACK, head + bytes);
	receiver->unacked = 0;
	receiver->at_once = false;
	monolith__stop(connection, MONOLITH_DELAY);
}

/* Windows and acks are decided once a turn, not for each segment. */
void monolith__receiver_turn_end(struct monolith_connection *connection)
{
	const struct monolith_setup *setup = connection->setup;
	struct monolith_receiver *receiver = &connection->receiver;

	window_tell(connection);
	if (!receiver->unacked)
		return;
	if (receiver->at_once || receiver->unacked >= setup->ack_every || !setup->ack_delay_ns)
		monolith__ack_send(connection);
	else if (!monolith__runs(connection, MONOLITH_DELAY))
		monolith__start(connection, MONOLITH_DELAY,
				connection->now_ns + setup->ack_delay_ns);
}
