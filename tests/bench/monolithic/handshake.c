/* SPDX-License-Identifier: MIT */
/*
 * handshake.c -- opening with cookies and closing both ways, as virtual_circuit does: its states
 * and its bytes, which this file shares with it.
 *
 *   connect  byte 0 | opener's id 4 | fingerprint 8 | check 8 | body
 *   reply    byte 0 | opener's id 4 | check 2 | type 1 | body
 *
 * Each side's offers are the proof by which its peer would know its resets; it sends none, and
 * heeds none, so the proof is but random bytes.
 */
#include "connection.h"
#include "handshake.h"
#include "session/endpoint_sessions.h"

enum {
	CONNECT_CHECK_AT = 1 + 4 + 8,
	CONNECT_BODY_AT = CONNECT_CHECK_AT + 8,
	REPLY_CHECK_BYTES = 2,
	REPLY_REFUSED = 255, /* type of a reply: text follows */
	REPLY_ROOM = 64,
	INITIAL_SHIFT = 64 - 31, /* leaves 31 random bits */
	PORT_BYTES = 2,
	ID_BYTES = 4,
	FINGERPRINT_BYTES = 8,
	PROOF_BYTES = 16,
};

static uint64_t random_of(const struct monolith_endpoint *endpoint)
{
	return endpoint->port.world->ops->random(endpoint->port.world);
}

static uint64_t check_of(uint64_t fingerprint, uint32_t id, const uint8_t *bytes, size_t length)
{
	const uint64_t key[2] = { fingerprint, id };

	return nopal__siphash(key, bytes, length);
}

/* -------------------------------------------------------------- what is sent */

static void proof_write(struct nopal_writer *writer, const struct monolith_connection *connection)
{
	for (int i = 0; i < 2; i++)
		nopal_write(writer, connection->proof[i], PROOF_BYTES / 2);
}

static void connect_send(struct monolith_connection *connection)
{
	const struct monolith_setup *setup = connection->setup;
	uint32_t room = setup->datagram_bytes - CONNECT_BODY_AT;
	uint32_t length = room < HANDSHAKE_CONNECT_BYTES ? room : HANDSHAKE_CONNECT_BYTES;
	uint32_t head = CONNECT_BODY_AT - MONOLITH_HEAD;
	const struct handshake_connect said = {
		.nonce = connection->nonce,
		.initial = connection->initial,
		.cookie_given = connection->cookie_given,
		.cookie_epoch = connection->cookie_epoch,
		.cookie = connection->cookie,
	};
	uint8_t *at = monolith__control_begin(connection, head + length);
	struct nopal_writer writer;

	if (!at)
		return;
	writer = nopal_writer_over(at + head, length);
	handshake_write_known(&writer, setup->canonical, PROOF_BYTES, &said);
	proof_write(&writer, connection);
	handshake_write_proof(&writer, &said);
	writer = nopal_writer_over(at, head);
	nopal_write(&writer, setup->fingerprint, FINGERPRINT_BYTES);
	nopal_write(&writer, check_of(setup->fingerprint, connection->local_id, at + head, length),
		    FINGERPRINT_BYTES);
	monolith__control_end(connection, MONOLITH_CONNECT, head + length);
}

static void accept_send(struct monolith_connection *connection)
{
	const struct handshake_accept said = {
		.nonce = connection->nonce,
		.id = connection->local_id,
		.initial = connection->initial,
	};
	uint32_t length = HANDSHAKE_ACCEPT_BYTES + PROOF_BYTES;
	uint8_t *at = monolith__control_begin(connection, length);
	struct nopal_writer writer;

	if (!at)
		return;
	writer = nopal_writer_over(at, length);
	handshake_write_accept(&writer, &said);
	proof_write(&writer, connection);
	monolith__control_end(connection, MONOLITH_ACCEPT, length);
}

static void close_send(struct monolith_connection *connection, enum monolith_kind kind, bool known)
{
	uint8_t *at = monolith__control_begin(connection, HANDSHAKE_CLOSE_BYTES);
	struct nopal_writer writer;

	if (!at)
		return;
	writer = nopal_writer_over(at, HANDSHAKE_CLOSE_BYTES);
	nopal_write(&writer, connection->nonce, HANDSHAKE_NONCE_BYTES);
	nopal_write(&writer, known ? HANDSHAKE_KNOWN : 0, 1);
	monolith__control_end(connection, kind, HANDSHAKE_CLOSE_BYTES);
}

/* ---------------------------------------------------------------- the opener */

static int64_t wait_after(const struct monolith_setup *setup, uint32_t sends)
{
	int64_t wait_ns = setup->retry_ns;

	while (--sends && wait_ns < setup->retry_max_ns)
		wait_ns *= 2;
	return wait_ns < setup->retry_max_ns ? wait_ns : setup->retry_max_ns;
}

static void opening_repeat(struct monolith_connection *connection)
{
	connection->opening_sends++;
	if (connection->state == MONOLITH_ASKING)
		connect_send(connection);
	else if (connection->state == MONOLITH_TELLING)
		accept_send(connection);
	monolith__start(connection, MONOLITH_OPENING,
			connection->now_ns +
				wait_after(connection->setup, connection->opening_sends));
}

static void numbers_begin(struct monolith_connection *connection)
{
	for (int i = 0; i < 2; i++)
		connection->proof[i] = random_of(connection->endpoint);
	connection->initial = 1 + (random_of(connection->endpoint) >> INITIAL_SHIFT);
	monolith__sender_begin(connection, connection->initial);
}

static void peer_is(struct monolith_connection *connection, uint32_t id)
{
	connection->peer_id = id;
	connection->peer_known = true;
	connection->peer_head[0] = MONOLITH_VERSION_BITS | MONOLITH_DATA;
	monolith_put32(connection->peer_head + 1, id);
}

void monolith__handshake_begin(struct monolith_connection *connection)
{
	connection->nonce = random_of(connection->endpoint);
	connection->state = MONOLITH_ASKING;
	numbers_begin(connection);
	opening_repeat(connection);
}

static void cookie_receive(struct monolith_connection *connection, struct nopal_reader reader)
{
	struct handshake_connect said;

	if (connection->state != MONOLITH_ASKING || !handshake_read_cookie(reader, &said) ||
	    said.nonce != connection->nonce || connection->cookies >= connection->setup->attempts ||
	    (connection->cookie_given && connection->cookie == said.cookie))
		return;
	connection->cookie = said.cookie;
	connection->cookie_epoch = (uint8_t)said.cookie_epoch;
	connection->cookie_given = true;
	if (connection->cookies++ == 0)
		connection->opening_sends = 0;
	opening_repeat(connection);
}

void monolith__reply_receive(struct monolith_connection *connection, const uint8_t *bytes,
			     uint32_t length)
{
	struct nopal_reader reader =
		nopal_reader_over(bytes + MONOLITH_HEAD, length - MONOLITH_HEAD);
	uint64_t check = nopal_read(&reader, REPLY_CHECK_BYTES);

	if (!connection->opener || reader.bad || reader.at == reader.end ||
	    check != (uint16_t)check_of(connection->setup->fingerprint, connection->local_id,
					reader.at, nopal_read_left(&reader))) {
		connection->counters.malformed++;
		return;
	}
	if (*reader.at == REPLY_REFUSED && !connection->peer_known)
		monolith__end(connection, NOPAL_REFUSED,
			      "the listener does not run this composition");
	else
		cookie_receive(connection, reader);
}

/* -------------------------------------------------------------- the listener */

static uint64_t cookie_of(const struct monolith_endpoint *endpoint,
			  const struct nopal_address *from, uint32_t peer_id, uint64_t epoch,
			  const struct handshake_connect *said)
{
	uint8_t bytes[64];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

	nopal_write_bytes(&writer, from->ip, sizeof(from->ip));
	nopal_write(&writer, from->port, PORT_BYTES);
	nopal_write(&writer, peer_id, ID_BYTES);
	nopal_write(&writer, epoch, sizeof(epoch));
	nopal_write(&writer, said->nonce + said->initial * HANDSHAKE_SPREAD, sizeof(said->nonce));
	return nopal__siphash(endpoint->secret, bytes, nopal_written(&writer));
}

/* Good in the epoch in which it was given and in the next. */
static bool proven(const struct monolith_endpoint *endpoint, const struct nopal_address *from,
		   uint32_t peer_id, uint64_t now, const struct handshake_connect *said)
{
	uint64_t age = (uint8_t)(now - said->cookie_epoch);

	return said->cookie_given && age <= 1 && age <= now &&
	       said->cookie == cookie_of(endpoint, from, peer_id, now - age, said);
}

/* A datagram of no connection: a train of its own. */
static void reply_send(struct monolith_endpoint *endpoint, const struct nopal_address *to,
		       uint32_t peer_id, const uint8_t *body, uint32_t length)
{
	uint8_t *at = endpoint->train;
	uint32_t head = MONOLITH_HEAD + REPLY_CHECK_BYTES;

	monolith__flush(endpoint);
	if (endpoint->train_count)
		return;
	at[0] = MONOLITH_VERSION_BITS | MONOLITH_REPLY;
	monolith_put32(at + 1, peer_id);
	monolith_put16(at + MONOLITH_HEAD,
		       (uint16_t)check_of(endpoint->setup->fingerprint, peer_id, body, length));
	memcpy(at + head, body, length);
	endpoint->train_of = NULL;
	endpoint->train_to = *to;
	endpoint->train_length = endpoint->train_stride = head + length;
	endpoint->train_count = 1;
	monolith__flush(endpoint);
	endpoint->port.counters.replies++;
}

static void cookie_send(struct monolith_endpoint *endpoint, const struct nopal_address *to,
			uint32_t peer_id, uint64_t epoch, struct handshake_connect *said)
{
	uint8_t bytes[REPLY_ROOM];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));

	said->cookie = cookie_of(endpoint, to, peer_id, epoch, said);
	said->cookie_epoch = epoch;
	handshake_write_cookie(&writer, said);
	reply_send(endpoint, to, peer_id, bytes, nopal_written(&writer));
}

static struct monolith_connection *connecting(const struct monolith_endpoint *endpoint,
					      const struct nopal_address *from, uint32_t peer_id)
{
	struct monolith_connection *connection = endpoint->connections;

	while (connection &&
	       (connection->opener || connection->life == MONOLITH_LIFE_ENDED ||
		connection->peer_id != peer_id || !nopal_address_equal(&connection->peer, from)))
		connection = connection->next;
	return connection;
}

static void admitted(struct monolith_endpoint *endpoint, const struct nopal_address *from,
		     uint32_t peer_id, const struct handshake_connect *said)
{
	struct monolith_connection *connection = monolith__connection_new(endpoint, from, false);

	if (!connection)
		return;
	connection->callbacks = endpoint->callbacks;
	connection->user = endpoint->user;
	peer_is(connection, peer_id);
	monolith__touch(connection);
	connection->nonce = said->nonce;
	connection->state = MONOLITH_TELLING;
	numbers_begin(connection);
	monolith__receiver_begin(connection, said->initial);
	opening_repeat(connection);
	monolith__opened(connection);
	endpoint->port.counters.accepted++;
}

void monolith__connect_receive(struct monolith_endpoint *endpoint, const struct nopal_address *from,
			       const uint8_t *bytes, uint32_t length)
{
	static const uint8_t refused[] = { REPLY_REFUSED, 'n', 'o' };
	uint64_t epoch = (uint64_t)(endpoint->port.world->now_ns / HANDSHAKE_EPOCH_NS);
	struct nopal_reader reader = nopal_reader_over(bytes + 1, length - 1);
	uint32_t peer_id = (uint32_t)nopal_read(&reader, ID_BYTES);
	uint64_t fingerprint = nopal_read(&reader, FINGERPRINT_BYTES);
	uint64_t check = nopal_read(&reader, FINGERPRINT_BYTES);
	struct monolith_connection *connection;
	struct handshake_connect said;
	struct nopal_reader known;

	endpoint->port.counters.requests++;
	if (!endpoint->callbacks || reader.bad || !peer_id ||
	    check != check_of(fingerprint, peer_id, reader.at, nopal_read_left(&reader)) ||
	    !handshake_read_connect(reader, PROOF_BYTES, &said, &known))
		return;
	connection = connecting(endpoint, from, peer_id);
	if (connection) {
		monolith__touch(connection);
		if (said.nonce == connection->nonce)
			accept_send(connection);
	} else if (fingerprint != endpoint->setup->fingerprint) {
		endpoint->port.counters.refused++;
		reply_send(endpoint, from, peer_id, refused, sizeof(refused));
	} else if (proven(endpoint, from, peer_id, epoch, &said)) {
		admitted(endpoint, from, peer_id, &said);
	} else {
		cookie_send(endpoint, from, peer_id, epoch, &said);
	}
}

/* ---------------------------------------------------------- accept and close */

static void accept_receive(struct monolith_connection *connection, struct nopal_reader reader)
{
	bool opens = connection->state == MONOLITH_ASKING;
	struct handshake_accept said;
	struct nopal_reader offers;

	if (!connection->opener || !handshake_read_accept(reader, PROOF_BYTES, &said, &offers) ||
	    said.nonce != connection->nonce)
		return;
	if (opens) {
		connection->state = MONOLITH_CONFIRMED;
		monolith__stop(connection, MONOLITH_OPENING);
		peer_is(connection, (uint32_t)said.id);
		monolith__receiver_begin(connection, said.initial);
	}
	accept_send(connection);
	if (opens)
		monolith__opened(connection);
}

static void close_repeat(struct monolith_connection *connection)
{
	const struct monolith_setup *setup = connection->setup;
	int64_t wait_ns = setup->retry_ns;

	connection->closing_sends++;
	if (connection->close_acked)
		wait_ns = setup->retry_max_ns;
	else if (!connection->peer_closed)
		wait_ns = wait_after(setup, connection->closing_sends);
	close_send(connection, MONOLITH_CLOSE, connection->peer_closed);
	monolith__start(connection, MONOLITH_CLOSING, connection->now_ns + wait_ns);
}

void monolith__handshake_close(struct monolith_connection *connection)
{
	connection->closing = true;
	close_repeat(connection);
}

static void closed(struct monolith_connection *connection)
{
	monolith__end(connection, NOPAL_ENDED_WELL, "closed in good order");
}

/* Our close has arrived.  `settled`: the peer knows that all is acknowledged. */
static void close_is_acked(struct monolith_connection *connection, bool settled)
{
	connection->close_acked = true;
	connection->closing_sends = 0;
	if (!connection->peer_closed)
		return;
	monolith__stop(connection, MONOLITH_CLOSING);
	if (settled)
		closed(connection);
	else if (!monolith__runs(connection, MONOLITH_LINGER))
		monolith__start(connection, MONOLITH_LINGER,
				connection->now_ns + connection->setup->linger_ns);
}

/* The peer sends no more: we close too. */
static void close_receive(struct monolith_connection *connection, bool known)
{
	bool first = !connection->peer_closed;

	connection->peer_closed = true;
	if (first)
		monolith_close(connection);
	connection->close_acked |= known && connection->closing;
	close_send(connection, MONOLITH_CLOSE_ACK, connection->close_acked);
	if (connection->close_acked)
		close_is_acked(connection, false);
}

void monolith__handshake_receive(struct monolith_connection *connection, enum monolith_kind kind,
				 const uint8_t *body, uint32_t length)
{
	struct nopal_reader reader = nopal_reader_over(body, length);
	uint64_t nonce;
	bool known;

	if (kind == MONOLITH_ACCEPT) {
		monolith__confirm(connection);
		accept_receive(connection, reader);
		return;
	}
	if (!monolith__confirm(connection) || !handshake_read_close(reader, &nonce, &known) ||
	    nonce != connection->nonce)
		return;
	if (kind == MONOLITH_CLOSE)
		close_receive(connection, known);
	else if (connection->closing)
		close_is_acked(connection, known);
}

void monolith__handshake_timer(struct monolith_connection *connection, enum monolith_timer timer)
{
	int64_t attempts = connection->setup->attempts;

	if (timer == MONOLITH_LINGER)
		closed(connection);
	else if (timer == MONOLITH_OPENING && connection->opening_sends < attempts)
		opening_repeat(connection);
	else if (timer == MONOLITH_OPENING)
		monolith__end(connection, NOPAL_UNREACHABLE, "no answer while opening");
	else if (connection->closing_sends < attempts)
		close_repeat(connection);
	else if (connection->peer_closed)
		closed(connection);
	else
		monolith__end(connection, NOPAL_PEER_LOST, "no answer to the close");
}
