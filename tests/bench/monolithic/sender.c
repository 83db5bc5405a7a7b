/* SPDX-License-Identifier: MIT */
/*
 * sender.c -- messages in, datagrams out, and the wait for their status.
 *
 * Messages stay whole until they leave: a run of equal segments is cut, packed, sealed and noted in
 * one loop, as long as windows and the train allow.  All rings are powers of two and grow; in a
 * steady state nothing is allocated.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine/composite.h"
#include "connection.h"
#include <nopal/microprotocol.h>

enum {
	SENDER_AT_FIRST = 256, /* room of each ring */
	SENDER_LINE = 64,      /* bytes of a cache line */
	SENDER_STRIDE = 4 * SENDER_LINE,
	SENDER_PROBE_BACKOFF = 6, /* doublings of the wait between probes */
	SENDER_EDGE_MAX = 1 << 24 /* a farther edge is not believed */
};

/* --------------------------------------------------------------------- rings */

/* A ring of twice the room with [from, to) at their places; NULL: no memory. */
static void *ring_double(void *ring, uint32_t *mask, size_t bytes, uint64_t from, uint64_t to)
{
	uint32_t grown_mask = *mask * 2 + 1;
	char *grown = calloc((size_t)grown_mask + 1, bytes), *old = ring;

	if (!grown)
		return NULL;
	for (uint64_t at = from; at < to; at++)
		memcpy(grown + (at & grown_mask) * bytes, old + (at & *mask) * bytes, bytes);
	free(ring);
	*mask = grown_mask;
	return grown;
}

static void no_memory(struct monolith_connection *connection)
{
	monolith__end(connection, NOPAL_RESOURCE, "no memory for a ring");
}

static bool bits_double(struct monolith_sender *sender)
{
	uint32_t words = (sender->segment_mask + 1) / MONOLITH_WORD;
	uint64_t *grown = calloc(2 * words, sizeof(*grown));

	if (!grown)
		return false;
	for (uint64_t at = sender->base; at < sender->reported_end; at++) {
		uint64_t old = at & sender->segment_mask;
		uint64_t now = at & (2 * sender->segment_mask + 1);

		grown[now / MONOLITH_WORD] |=
			(sender->reported_bits[old / MONOLITH_WORD] >> old % MONOLITH_WORD & 1)
			<< now % MONOLITH_WORD;
	}
	free(sender->reported_bits);
	sender->reported_bits = grown;
	return true;
}

/* Settled transmissions stay readable: a late ack is a true sample. */
static void *transmissions_double(struct monolith_sender *sender)
{
	uint64_t to = sender->packet_next;
	uint64_t room = (uint64_t)sender->transmission_mask + 1;
	void *grown = ring_double(sender->transmissions, &sender->transmission_mask,
				  sizeof(*sender->transmissions), to > room ? to - room : 0, to);

	if (grown)
		sender->transmissions = grown;
	return grown;
}

/* Room to note `count` transmissions more, of new segments. */
static bool rings_make_room(struct monolith_connection *connection, uint32_t count)
{
	struct monolith_sender *sender = &connection->sender;
	void *grown = sender;

	while (grown && sender->next + count - sender->base > sender->segment_mask) {
		if (!bits_double(sender)) {
			grown = NULL;
			break;
		}
		grown = ring_double(sender->segments, &sender->segment_mask,
				    sizeof(*sender->segments), sender->base, sender->next);
		if (grown)
			sender->segments = grown;
	}
	while (grown &&
	       sender->packet_next + count - sender->packet_oldest > sender->transmission_mask)
		grown = transmissions_double(sender);
	if (!grown)
		no_memory(connection);
	return grown != NULL;
}

void monolith__sender_begin(struct monolith_connection *connection, uint64_t first)
{
	const struct monolith_setup *setup = connection->setup;
	struct monolith_sender *sender = &connection->sender;

	sender->base = sender->next = sender->reported_end = first;
	sender->edge = first + (uint64_t)setup->edge_initial;
	sender->app_limited = true;
	sender->votes = setup->loss_threshold < MONOLITH_VOTES ? (uint32_t)setup->loss_threshold
							       : MONOLITH_VOTES;
	sender->segment_mask = sender->transmission_mask = SENDER_AT_FIRST - 1;
	sender->again_mask = SENDER_AT_FIRST - 1;
	sender->segments = calloc(SENDER_AT_FIRST, sizeof(*sender->segments));
	sender->transmissions = calloc(SENDER_AT_FIRST, sizeof(*sender->transmissions));
	sender->again = calloc(SENDER_AT_FIRST, sizeof(*sender->again));
	sender->reported_bits =
		calloc(SENDER_AT_FIRST / MONOLITH_WORD, sizeof(*sender->reported_bits));
	if (!sender->segments || !sender->transmissions || !sender->again || !sender->reported_bits)
		no_memory(connection);
}

void monolith__sender_free(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;

	for (; sender->message_head < sender->message_tail; sender->message_head++)
		nopal_buffer_unref(
			sender->messages[sender->message_head & sender->message_mask].buffer);
	free(sender->messages);
	free(sender->segments);
	free(sender->transmissions);
	free(sender->again);
	free(sender->reported_bits);
}

/* ----------------------------------------------------------------- transmissions */

static int64_t status_wait(const struct monolith_connection *connection)
{
	int64_t wait_ns = connection->rtt.timeout_ns;
	int64_t min_ns = connection->setup->status_min_ns;

	return wait_ns > min_ns ? wait_ns : min_ns;
}

static int64_t status_backed_off(const struct monolith_connection *connection)
{
	int64_t max_ns = connection->setup->status_max_ns;
	int64_t wait_ns = status_wait(connection) << connection->sender.backoff;

	return wait_ns < max_ns ? wait_ns : max_ns;
}

static inline void datagram_write(const struct monolith_connection *connection,
				  const struct monolith_segment *segment, uint64_t number,
				  uint8_t *at)
{
	uint32_t length = segment->length;

	memcpy(at, connection->peer_head, MONOLITH_HEAD);
	monolith_put32(at + MONOLITH_PACKET_AT, (uint32_t)segment->packet);
	monolith_put16(at + MONOLITH_FRAGMENT_AT, segment->fragment);
	monolith_put32(at + MONOLITH_NUMBER_AT, (uint32_t)number);
	memcpy(at + MONOLITH_DATA_HEAD, segment->bytes, length);
	length += MONOLITH_DATA_HEAD;
	if (connection->setup->trailer_bytes)
		monolith_put32(at + length, nopal__crc32c(at, length));
}

static uint32_t datagram_bytes(const struct monolith_connection *connection, uint32_t length)
{
	return MONOLITH_DATA_HEAD + length + connection->setup->trailer_bytes;
}

/* The next segment comes from memory while this one is packed. */
static inline void prefetch(const uint8_t *bytes, uint32_t length)
{
	for (uint32_t at = 0; at < length; at += SENDER_STRIDE) {
		__builtin_prefetch(bytes + at);
		__builtin_prefetch(bytes + at + SENDER_LINE);
		__builtin_prefetch(bytes + at + 2 * SENDER_LINE);
		__builtin_prefetch(bytes + at + 3 * SENDER_LINE);
	}
}

/* First transmissions of `run` segments of `length` bytes; the train has room. */
static void transmit_run(struct monolith_connection *connection, struct monolith_outgoing *message,
			 uint32_t run, uint32_t length)
{
	struct monolith_sender *sender = &connection->sender;
	uint32_t bytes = datagram_bytes(connection, length);
	uint8_t *at = monolith__train_at(connection);
	const uint8_t *body = message->bytes + message->cut;
	uint64_t number = sender->next, packet = sender->packet_next;
	uint64_t end = number + run;
	uint16_t fragment = (uint16_t)message->cuts;
	bool whole = message->cut + run * length == message->length;

	for (; number < end; number++, packet++) {
		struct monolith_segment *segment = &sender->segments[number & sender->segment_mask];

		*segment = (struct monolith_segment){
			.bytes = body,
			.transmitted_ns = connection->now_ns,
			.packet = packet,
			.length = (uint16_t)length,
			.fragment = fragment++,
			.transmissions = 1,
		};
		if (whole && number + 1 == end)
			segment->fragment |= MONOLITH_LAST;
		sender->transmissions[packet & sender->transmission_mask] =
			(struct monolith_transmission){ connection->now_ns, number };
		prefetch(body + length, length);
		datagram_write(connection, segment, number, at);
		body += length;
		at += bytes;
	}
	message->cut += run * length;
	message->cuts += run;
	message->end = end;
	sender->next = end;
	sender->packet_next = packet;
	sender->in_flight += (int64_t)run * length;
	sender->message_cut += whole;
	connection->counters.transmissions += run;
	monolith__train_add(connection, run, bytes);
}

/* How many segments of `length` the congestion window takes. */
static int64_t window_room(const struct monolith_sender *sender, uint32_t length)
{
	int64_t left = sender->window - sender->in_flight;

	if (sender->in_flight <= 0 && left < (int64_t)length)
		return 1;
	if (length == 0)
		return left >= 0;
	return left > 0 ? left / length : 0;
}

/* The next run of first transmissions; false: it is not their time. */
static bool transmit_next(struct monolith_connection *connection)
{
	const struct monolith_setup *setup = connection->setup;
	struct monolith_sender *sender = &connection->sender;
	struct monolith_outgoing *message =
		&sender->messages[sender->message_cut & sender->message_mask];
	uint64_t end = sender->base + (uint64_t)setup->ack_window;
	uint32_t left = message->length - message->cut, length = left;
	int64_t run = 1, room;

	if (length >= setup->body_bytes) {
		length = setup->body_bytes;
		run = left / length;
	}
	if (sender->edge < end)
		end = sender->edge;
	if (sender->next >= end)
		return false;
	if ((uint64_t)run > end - sender->next)
		run = (int64_t)(end - sender->next);
	room = window_room(sender, length);
	if (run > room)
		run = room;
	if (run <= 0)
		return false;
	room = monolith__train_room(connection, datagram_bytes(connection, length));
	if (run > room)
		run = room;
	if (run <= 0 || !rings_make_room(connection, (uint32_t)run))
		return false;
	transmit_run(connection, message, (uint32_t)run, length);
	return true;
}

static void transmit_again(struct monolith_connection *connection, struct monolith_segment *segment,
			   uint64_t number)
{
	struct monolith_sender *sender = &connection->sender;

	segment->packet = sender->packet_next++;
	segment->transmitted_ns = connection->now_ns;
	if (segment->transmissions < UINT16_MAX)
		segment->transmissions++;
	segment->outcome = MONOLITH_FLYING;
	sender->transmissions[segment->packet & sender->transmission_mask] =
		(struct monolith_transmission){ connection->now_ns, number };
	sender->in_flight += segment->length;
	connection->counters.transmissions++;
	connection->counters.resends++;
	datagram_write(connection, segment, number, monolith__train_at(connection));
	monolith__train_add(connection, 1, datagram_bytes(connection, segment->length));
}

/* The lost go first; false: some of them must wait. */
static bool pump_again(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;

	for (; sender->again_head < sender->again_tail; sender->again_head++) {
		uint64_t number = sender->again[sender->again_head & sender->again_mask];
		struct monolith_segment *segment = &sender->segments[number & sender->segment_mask];

		if (number < sender->base || segment->outcome != MONOLITH_LOST)
			continue;
		if (!window_room(sender, segment->length) ||
		    !monolith__train_room(connection,
					  datagram_bytes(connection, segment->length)) ||
		    !rings_make_room(connection, 1))
			return false;
		/* The ring may have moved. */
		segment = &sender->segments[number & sender->segment_mask];
		transmit_again(connection, segment, number);
	}
	return true;
}

static void flow_block(struct monolith_connection *connection, bool blocked)
{
	struct monolith_sender *sender = &connection->sender;

	sender->flow_blocked = blocked;
	if (!blocked)
		monolith__stop(connection, MONOLITH_PROBE);
	else if (!monolith__runs(connection, MONOLITH_PROBE))
		monolith__start(connection, MONOLITH_PROBE,
				connection->now_ns +
					(connection->setup->probe_ns << sender->probes));
}

void monolith__sender_pump(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;
	bool more;

	if (pump_again(connection))
		while (sender->message_cut < sender->message_tail && transmit_next(connection))
			;
	if (connection->life == MONOLITH_LIFE_ENDED)
		return;
	more = sender->message_cut < sender->message_tail;
	flow_block(connection, more && sender->next >= sender->edge);
	sender->app_limited =
		((!more && sender->again_head == sender->again_tail) || sender->flow_blocked) &&
		sender->in_flight + connection->setup->body_bytes <= sender->window;
	if (sender->packet_oldest < sender->packet_next &&
	    !monolith__runs(connection, MONOLITH_STATUS))
		monolith__start(connection, MONOLITH_STATUS,
				connection->now_ns + status_backed_off(connection));
}

/* --------------------------------------------------------------------- status */

void monolith__lose(struct monolith_connection *connection, struct monolith_segment *segment,
		    uint64_t number)
{
	struct monolith_sender *sender = &connection->sender;
	uint64_t *grown;

	sender->transmissions[segment->packet & sender->transmission_mask].number = 0;
	sender->in_flight -= segment->length;
	segment->outcome = MONOLITH_LOST;
	if (sender->again_tail - sender->again_head > sender->again_mask) {
		grown = ring_double(sender->again, &sender->again_mask, sizeof(*grown),
				    sender->again_head, sender->again_tail);
		if (!grown) {
			no_memory(connection);
			return;
		}
		sender->again = grown;
	}
	sender->again[sender->again_tail++ & sender->again_mask] = number;
}

/* When the oldest transmission will have waited too long. */
int64_t monolith__deadline(const struct monolith_connection *connection)
{
	const struct monolith_sender *sender = &connection->sender;
	int64_t since_ns;

	if (sender->packet_oldest == sender->packet_next)
		return NOPAL_NEVER;
	since_ns = sender->transmissions[sender->packet_oldest & sender->transmission_mask].time_ns;
	if (since_ns < sender->progress_ns)
		since_ns = sender->progress_ns;
	return since_ns + status_backed_off(connection);
}

static void timed_out(struct monolith_connection *connection, int64_t left_ns)
{
	struct monolith_sender *sender = &connection->sender;

	for (uint64_t at = sender->packet_oldest; at < sender->packet_next; at++) {
		const struct monolith_transmission *transmission =
			&sender->transmissions[at & sender->transmission_mask];
		uint64_t number = transmission->number;
		struct monolith_segment *segment = &sender->segments[number & sender->segment_mask];

		if (!number)
			continue;
		if (transmission->time_ns > left_ns)
			return;
		connection->counters.segments_timeout++;
		monolith__cubic_timeout(connection, segment->packet);
		monolith__lose(connection, segment, number);
		if (++segment->timed_out >= connection->setup->timed_out_max)
			monolith__end(connection, NOPAL_GAVE_UP,
				      "the peer fell silent: a segment used up its attempts");
	}
}

void monolith__sender_status(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;
	int64_t wait_ns = status_wait(connection);
	int64_t deadline_ns = monolith__deadline(connection);

	if (deadline_ns <= connection->now_ns) {
		if (sender->backoff < connection->setup->backoff_max)
			sender->backoff++;
		timed_out(connection, connection->now_ns - wait_ns);
		monolith__oldest(sender);
		deadline_ns = monolith__deadline(connection);
	}
	if (deadline_ns != NOPAL_NEVER)
		monolith__start(connection, MONOLITH_STATUS, deadline_ns);
}

/* ----------------------------------------------------------- the peer's window */

void monolith__window_receive(struct monolith_connection *connection, const uint8_t *body,
			      uint32_t length)
{
	struct monolith_sender *sender = &connection->sender;
	uint64_t edge;

	if (length != sizeof(uint32_t))
		return;
	edge = monolith_near(sender->edge, monolith_get32(body));
	if (edge <= sender->edge || edge > sender->next + SENDER_EDGE_MAX)
		return;
	sender->edge = edge;
	sender->probes = 0;
	monolith__stop(connection, MONOLITH_PROBE);
}

void monolith__sender_probe(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;
	uint8_t *body = NULL;

	if (sender->flow_blocked)
		body = monolith__control_begin(connection, sizeof(uint32_t));
	if (!body)
		return;
	monolith_put32(body, (uint32_t)sender->next);
	monolith__control_end(connection, MONOLITH_WINDOW_PROBE, sizeof(uint32_t));
	if (sender->probes < SENDER_PROBE_BACKOFF)
		sender->probes++;
}

/* ---------------------------------------------------------------- the program */

static bool message_room(struct monolith_sender *sender)
{
	uint32_t mask = sender->message_mask;
	void *grown;

	if (sender->messages && sender->message_tail - sender->message_head <= mask)
		return true;
	grown = ring_double(sender->messages, &mask, sizeof(*sender->messages),
			    sender->message_head, sender->message_tail);
	if (!grown)
		return false;
	sender->messages = grown;
	sender->message_mask = mask;
	return true;
}

int monolith__message_add(struct monolith_connection *connection, struct nopal_buffer *buffer,
			  uint32_t from, uint32_t length)
{
	const struct monolith_setup *setup = connection->setup;
	struct monolith_sender *sender = &connection->sender;
	bool unfinished = sender->message_head < sender->message_tail;

	if (connection->life > MONOLITH_LIFE_OPEN || connection->close_asked)
		return -EPIPE;
	if (length > setup->message_limit)
		return -EMSGSIZE;
	if (unfinished && sender->unfinished_bytes + length > setup->send_bytes) {
		sender->blocked = true;
		return -EAGAIN;
	}
	if (!message_room(sender))
		return -ENOBUFS;
	sender->messages[sender->message_tail++ & sender->message_mask] =
		(struct monolith_outgoing){
			.buffer = nopal_buffer_ref(buffer),
			.bytes = buffer->bytes + from,
			.length = length,
		};
	sender->unfinished_bytes += length;
	return 0;
}
