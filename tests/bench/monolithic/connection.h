/* SPDX-License-Identifier: MIT */
/*
 * connection.h -- what the files of the monolith share: a connection, an endpoint, and the bytes of
 * a datagram (docs/wire.md).
 *
 *   data   byte 0 | id 4 | packet number 4 | fragment 2 | segment 4 | body | crc
 *   else   byte 0 | id 4 | body | crc
 */
#ifndef NOPAL_MONOLITH_CONNECTION_H
#define NOPAL_MONOLITH_CONNECTION_H

#include <endian.h>
#include <string.h>

#include "session/endpoint_sessions.h"
#include "crc32c.h"
#include "monolith.h"

/* The kinds of bulk and bulk_cubic. */
enum monolith_kind {
	MONOLITH_DATA = 0,
	MONOLITH_CONNECT = 2,
	MONOLITH_REPLY = 3,
	MONOLITH_ABORT = 4,
	MONOLITH_ALIVE_PROBE = 5,
	MONOLITH_ALIVE_ANSWER = 6,
	MONOLITH_ACK = 7,
	MONOLITH_ACCEPT = 8,
	MONOLITH_CLOSE = 9,
	MONOLITH_CLOSE_ACK = 10,
	MONOLITH_WINDOW = 11,
	MONOLITH_WINDOW_PROBE = 12,
};

enum {
	MONOLITH_VERSION_BITS = 1 << 5, /* version 1 above 5 bits of kind */
	MONOLITH_KIND_MASK = (1 << 5) - 1,
	MONOLITH_HEAD = 1 + 4, /* byte 0 and the id, of every kind */
	MONOLITH_PACKET_AT = 5,
	MONOLITH_FRAGMENT_AT = 9,
	MONOLITH_NUMBER_AT = 11,
	MONOLITH_DATA_HEAD = 15,
	MONOLITH_LAST = 1 << 15, /* of a fragment: the last of its message */
	MONOLITH_WORD = 64,	 /* bits */
	MONOLITH_VOTES = 16,	 /* arrivals that loss detection remembers */
	MONOLITH_STEADY = 4,	 /* samples that a shortest round trip takes */
};

enum monolith_timer {
	MONOLITH_OPENING,
	MONOLITH_CLOSING,
	MONOLITH_LINGER,
	MONOLITH_CHECK,	 /* whether the peer is alive */
	MONOLITH_STATUS, /* of what has left */
	MONOLITH_JUDGE,	 /* whether what was overtaken is lost */
	MONOLITH_DELAY,	 /* of an ack */
	MONOLITH_PROBE,	 /* for the peer's window */
	MONOLITH_TIMERS,
};

enum monolith_life {
	MONOLITH_LIFE_OPENING,
	MONOLITH_LIFE_OPEN,
	MONOLITH_LIFE_DRAINING,
	MONOLITH_LIFE_CLOSING,
	MONOLITH_LIFE_ENDED,
};

enum monolith_state { /* of the handshake */
		      MONOLITH_ASKING,
		      MONOLITH_TELLING,
		      MONOLITH_CONFIRMED,
};

enum monolith_outcome { MONOLITH_FLYING, MONOLITH_LOST, MONOLITH_ARRIVED };

/* A segment that has left, by its number. */
struct monolith_segment {
	const uint8_t *bytes;
	int64_t transmitted_ns;
	uint64_t packet; /* number of the last transmission */
	uint16_t length;
	uint16_t fragment;
	uint16_t transmissions; /* stays at the most */
	uint8_t timed_out;
	uint8_t outcome;
};

/* A transmission, by its packet number; number 0: settled. */
struct monolith_transmission {
	int64_t time_ns;
	uint64_t number;
};

/* A message of ours that is not acknowledged whole. */
struct monolith_outgoing {
	struct nopal_buffer *buffer;
	const uint8_t *bytes;
	uint32_t length;
	uint32_t cut;  /* bytes of it that have left */
	uint32_t cuts; /* in so many segments */
	uint64_t end;  /* one past its last number, once it was cut */
};

struct monolith_sender {
	/* numbers: [base, next) have left, base is the first not arrived */
	uint64_t base, next, edge;
	uint64_t packet_next, packet_oldest;
	int64_t in_flight, window; /* bytes */
	struct monolith_segment *segments;
	struct monolith_transmission *transmissions;
	uint32_t segment_mask, transmission_mask;

	struct monolith_outgoing *messages; /* ring: [head, tail) */
	uint64_t message_head, message_cut, message_tail;
	uint32_t message_mask;
	uint64_t unfinished_bytes;
	bool blocked; /* the program was told EAGAIN */
	bool app_limited, flow_blocked;

	uint64_t *again; /* lost numbers: ring, [head, tail) */
	uint64_t again_head, again_tail;
	uint32_t again_mask;

	uint64_t *reported_bits; /* by number: reported above the floor */
	uint64_t reported_end;	 /* one past the highest of them */

	uint64_t largest; /* packet number that the peer reported */
	bool reported;
	uint32_t backoff, probes;
	int64_t progress_ns;

	/* loss detection */
	uint64_t adapted_at;
	int64_t patience_ns, newest_ns;
	uint32_t votes, newest_count;
	uint64_t newest[MONOLITH_VOTES]; /* largest first */
	uint64_t vote_from;		 /* who is older has no vote */
};

struct monolith_rtt {
	int64_t smoothed_ns, variance_ns, minimum_ns, latest_ns, timeout_ns;
	int64_t recent_ns[MONOLITH_STEADY];
	uint32_t newest;
	uint64_t floor;
	bool overtakes;
};

struct monolith_cubic {
	int64_t threshold_bytes, maximum_bytes, prior_bytes, friendly_bytes;
	uint64_t friendly_rest, growth_rest;
	int64_t elapsed_ns, acked_ns, k_ticks;
	uint64_t reduced_at, timed_out_at;
	bool recovering, avoiding, fresh;
	uint64_t round_end;
	int64_t round_rtt_ns, last_round_rtt_ns;
	uint32_t round_samples;
};

/* A segment that came before its turn. */
struct monolith_early {
	struct nopal_buffer *buffer;
	const uint8_t *bytes;
	uint32_t length;
	uint16_t fragment;
};

struct monolith_receiver {
	/* numbers: all below floor arrived, none from end on */
	uint64_t floor, end, first;
	uint64_t latest; /* packet number */
	int64_t latest_ns;
	uint32_t unacked;
	bool at_once, asked;

	uint64_t granted, told, told_end, highest, grant;

	/* the message at the floor */
	struct monolith_piece *pieces;
	struct nopal_buffer **held, *held_last;
	uint32_t piece_count, piece_room, held_count;
	uint64_t message_bytes;

	/* above the floor: rings of one room */
	struct monolith_early *early;
	uint64_t *seen;
	uint32_t early_mask;
};

struct monolith_connection {
	uint8_t data_head[MONOLITH_HEAD]; /* of data to us */
	uint8_t peer_head[MONOLITH_HEAD]; /* of what we send; byte 0 of data */
	enum monolith_life life;
	enum monolith_state state;
	bool opener, touched, alive_asked;
	const struct monolith_setup *setup;
	struct monolith_endpoint *endpoint;
	int64_t now_ns, heard_ns;
	struct monolith_sender sender;
	struct monolith_rtt rtt;
	struct monolith_cubic cubic;
	struct monolith_receiver receiver;
	int64_t deadline_ns[MONOLITH_TIMERS]; /* NOPAL_NEVER: stopped */
	struct monolith_counters counters;

	struct nopal_address peer;
	uint32_t local_id, peer_id;
	uint64_t nonce, initial, cookie;
	uint64_t proof[2]; /* that we show in the opening */
	uint8_t cookie_epoch;
	bool cookie_given, peer_known;
	bool closing, close_acked, peer_closed, close_asked;
	uint32_t opening_sends, closing_sends, cookies;
	const struct monolith_callbacks *callbacks;
	void *user;
	enum nopal_end end;
	const char *end_text;
	struct monolith_connection *next, *next_touched;
};

struct monolith_endpoint {
	struct nopal_port port; /* first: the world's view */
	const struct monolith_setup *setup;
	struct monolith_connection *connections, *latest, *touched;
	struct monolith_endpoint *next;
	int64_t next_ns;			    /* no timer is earlier */
	const struct monolith_callbacks *callbacks; /* NULL: does not listen */
	void *user;
	uint64_t secret[2];
	bool in_turn, busy, train_closed;
	struct nopal_address train_to;
	struct monolith_connection *train_of;
	uint32_t train_length, train_stride, train_count;
	uint8_t train[NOPAL_TRAIN_BYTES + NOPAL_TRAIN_DATAGRAMS];
};

/* ------------------------------------------------------------------- numbers */

static inline void monolith_put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static inline void monolith_put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static inline uint16_t monolith_get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return be16toh(value);
}

static inline uint32_t monolith_get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

/* The number nearest to `reference` whose low 32 bits are `wire`. */
static inline uint64_t monolith_near(uint64_t reference, uint32_t wire)
{
	int64_t ahead = (int32_t)(wire - (uint32_t)reference);

	if (ahead < 0 && (uint64_t)-ahead > reference)
		return wire;
	return reference + (uint64_t)ahead;
}

/* ------------------------------------------------------------------- core.c */

void monolith__touch(struct monolith_connection *connection);
void monolith__end(struct monolith_connection *connection, enum nopal_end end, const char *text);
/* How many datagrams of `bytes` the train takes now; 0: the kernel is busy. */
uint32_t monolith__train_room(struct monolith_connection *connection, uint32_t bytes);
static inline uint8_t *monolith__train_at(struct monolith_connection *connection)
{
	struct monolith_endpoint *endpoint = connection->endpoint;

	return endpoint->train + endpoint->train_length;
}
/* `count` datagrams of `bytes` were written there. */
static inline void monolith__train_add(struct monolith_connection *connection, uint32_t count,
				       uint32_t bytes)
{
	struct monolith_endpoint *endpoint = connection->endpoint;

	endpoint->train_length += count * bytes;
	endpoint->train_count += count;
	endpoint->train_closed = bytes < endpoint->train_stride;
	connection->counters.datagrams_out += count;
}
void monolith__flush(struct monolith_endpoint *endpoint);
/* Where the body of a control datagram is written; NULL: the kernel is busy. */
uint8_t *monolith__control_begin(struct monolith_connection *connection, uint32_t max);
void monolith__control_end(struct monolith_connection *connection, enum monolith_kind kind,
			   uint32_t length);
struct monolith_connection *monolith__connection_new(struct monolith_endpoint *endpoint,
						     const struct nopal_address *peer, bool opener);
void monolith__opened(struct monolith_connection *connection);
void monolith__drained(struct monolith_connection *connection);

static inline void monolith__start(struct monolith_connection *connection,
				   enum monolith_timer timer, int64_t when_ns)
{
	connection->deadline_ns[timer] = when_ns;
	if (when_ns < connection->endpoint->next_ns)
		connection->endpoint->next_ns = when_ns;
}
static inline void monolith__stop(struct monolith_connection *connection, enum monolith_timer timer)
{
	connection->deadline_ns[timer] = NOPAL_NEVER;
}
static inline bool monolith__runs(const struct monolith_connection *connection,
				  enum monolith_timer timer)
{
	return connection->deadline_ns[timer] != NOPAL_NEVER;
}

/* -------------------------------------------------------------- handshake.c */

void monolith__handshake_begin(struct monolith_connection *connection);
void monolith__handshake_close(struct monolith_connection *connection);
void monolith__handshake_timer(struct monolith_connection *connection, enum monolith_timer timer);
void monolith__connect_receive(struct monolith_endpoint *endpoint, const struct nopal_address *from,
			       const uint8_t *bytes, uint32_t length);
void monolith__reply_receive(struct monolith_connection *connection, const uint8_t *bytes,
			     uint32_t length);
void monolith__handshake_receive(struct monolith_connection *connection, enum monolith_kind kind,
				 const uint8_t *body, uint32_t length);
/* Anything but another connect shows that the opener has our accept. */
static inline bool monolith__confirm(struct monolith_connection *connection)
{
	if (connection->state == MONOLITH_ASKING)
		return false;
	connection->state = MONOLITH_CONFIRMED;
	monolith__stop(connection, MONOLITH_OPENING);
	return true;
}

/* ----------------------------------------------------------------- sender.c */

void monolith__sender_begin(struct monolith_connection *connection, uint64_t first);
void monolith__sender_free(struct monolith_connection *connection);
/* As monolith_send; it does not leave yet. */
int monolith__message_add(struct monolith_connection *connection, struct nopal_buffer *buffer,
			  uint32_t from, uint32_t length);
/* Whatever may leave, leaves. */
void monolith__sender_pump(struct monolith_connection *connection);
void monolith__window_receive(struct monolith_connection *connection, const uint8_t *body,
			      uint32_t length);
void monolith__sender_status(struct monolith_connection *connection);
void monolith__sender_probe(struct monolith_connection *connection);
/* The oldest that is open comes next. */
static inline void monolith__oldest(struct monolith_sender *sender)
{
	while (sender->packet_oldest < sender->packet_next &&
	       !sender->transmissions[sender->packet_oldest & sender->transmission_mask].number)
		sender->packet_oldest++;
}
int64_t monolith__deadline(const struct monolith_connection *connection);
void monolith__lose(struct monolith_connection *connection, struct monolith_segment *segment,
		    uint64_t number);

/* ------------------------------------------------------------------- acks.c */

void monolith__ack_receive(struct monolith_connection *connection, const uint8_t *body,
			   uint32_t length);
void monolith__judge(struct monolith_connection *connection);

/* ------------------------------------------------------------------ cubic.c */

struct monolith_ack {
	uint64_t largest, floor;
	int64_t largest_sent_ns; /* 0: not known */
	int64_t delay_ns;
	uint64_t acked_bytes, acked_segments;
	bool largest_is_new;
};
void monolith__rtt_begin(struct monolith_connection *connection);
void monolith__rtt_sample(struct monolith_connection *connection, const struct monolith_ack *ack);
void monolith__cubic_begin(struct monolith_connection *connection);
void monolith__cubic_lost(struct monolith_connection *connection, uint64_t packet);
void monolith__cubic_timeout(struct monolith_connection *connection, uint64_t packet);
void monolith__cubic_acked(struct monolith_connection *connection, const struct monolith_ack *ack);

/* --------------------------------------------------------------- receiver.c */

void monolith__receiver_begin(struct monolith_connection *connection, uint64_t first);
void monolith__receiver_free(struct monolith_connection *connection);
/* Takes datagrams of data for the connection from `at` on; returns where the first stands that is
 * none. */
uint32_t monolith__data_receive(struct monolith_connection *connection,
				const struct nopal_arrival *arrival, uint32_t at, uint32_t stride);
void monolith__window_asked(struct monolith_connection *connection, const uint8_t *body,
			    uint32_t length);
void monolith__receiver_turn_end(struct monolith_connection *connection);
void monolith__ack_send(struct monolith_connection *connection);

#endif
