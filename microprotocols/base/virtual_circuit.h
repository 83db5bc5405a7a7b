/* SPDX-License-Identifier: MIT */
/*
 * virtual_circuit.h -- the state of virtual_circuit, the segments that it sends, and request and
 * answer with the extensions of other microprotocols.
 *
 *   request   all of connect before the cookie; it ends with the opener's extensions
 *   answer    accept; it ends with the listener's
 *
 * Both are the same however often they are sent, and so both sides can show them, byte by byte, to
 * the microprotocols whose extensions they hold.
 */
#ifndef NOPAL_VIRTUAL_CIRCUIT_H
#define NOPAL_VIRTUAL_CIRCUIT_H

#include "handshake.h"
#include "retries.h"

/* Length of connect, whose kind in the microprotocol's table is `kind`. */
static inline uint32_t handshake_connect_bytes(struct nopal_at at, unsigned kind)
{
	uint32_t limit = nopal_control_limit(at, kind);

	return limit < HANDSHAKE_CONNECT_BYTES ? limit : HANDSHAKE_CONNECT_BYTES;
}

static inline void handshake_write_request(struct nopal_session *session,
					   struct nopal_writer *writer,
					   const struct handshake_connect *connect)
{
	handshake_write_known(writer, nopal_session_composition(session),
			      nopal_extensions_bytes(session), connect);
	nopal_extensions_write(session, writer);
}

static inline void handshake_write_answer(struct nopal_session *session,
					  struct nopal_writer *writer,
					  const struct handshake_accept *accept)
{
	handshake_write_accept(writer, accept);
	nopal_extensions_write(session, writer);
}

/* At the listener, which has read the request and is about to send the answer. False: a
 * microprotocol refuses the opener's extension. */
static inline bool handshake_answer(struct nopal_session *session, struct nopal_reader request,
				    struct nopal_reader early,
				    const struct handshake_accept *accept)
{
	uint8_t answer[HANDSHAKE_ACCEPT_BYTES + NOPAL_EXTENSIONS_MAX];
	struct nopal_writer writer = nopal_writer_over(answer, sizeof(answer));
	struct nopal_opening opening = {
		.request = request.at,
		.request_length = nopal_read_left(&request),
		.answer = answer,
	};

	request.at = request.end - nopal_extensions_bytes(session);
	if (!nopal_extensions_read(session, &request) || !nopal_early_arrived(session, early))
		return false;
	handshake_write_answer(session, &writer, accept);
	opening.answer_length = nopal_written(&writer);
	return nopal_extensions_agreed(session, &opening);
}

/* At the opener, whose requests had this many bytes; the answer's extensions are read. */
static inline bool handshake_answered(struct nopal_session *session, uint32_t request_bytes,
				      const struct handshake_connect *connect,
				      const struct nopal_segment *answer)
{
	uint8_t request[HANDSHAKE_CONNECT_BYTES];
	struct nopal_writer writer = nopal_writer_over(request, request_bytes);
	struct nopal_opening opening = {
		.request = request,
		.answer = answer->body.bytes,
		.answer_length = answer->body.length,
	};

	handshake_write_request(session, &writer, connect);
	opening.request_length = nopal_written(&writer);
	return nopal_extensions_agreed(session, &opening);
}

struct virtual_circuit_parameters {
	struct retries retries;
	int64_t rendezvous_ns;
};

/* kinds */
enum {
	VIRTUAL_CIRCUIT_CONNECT,
	VIRTUAL_CIRCUIT_ACCEPT,
	VIRTUAL_CIRCUIT_CLOSE,
	VIRTUAL_CIRCUIT_CLOSE_ACK,
};
/* shared variables */
enum { VIRTUAL_CIRCUIT_LOCAL, VIRTUAL_CIRCUIT_PEER };
/* timers */
enum {
	VIRTUAL_CIRCUIT_OPENING,
	VIRTUAL_CIRCUIT_CLOSING,
	VIRTUAL_CIRCUIT_LINGER,
};

enum virtual_circuit_state {
	VIRTUAL_CIRCUIT_LISTENING, /* admitted; its connect comes next */
	VIRTUAL_CIRCUIT_ASKING,
	VIRTUAL_CIRCUIT_TELLING,
	VIRTUAL_CIRCUIT_OPEN,
};

struct virtual_circuit {
	enum virtual_circuit_state state;
	struct handshake_connect connect; /* as we ask; its nonce at both */
	struct closing closing;
	uint32_t opening_sends, cookies;
	/* of a rendezvous, until the peer has opened, too: */
	int64_t asked_ns;	     /* the last request */
	int64_t rendezvous_until_ns; /* how long to wait for the peer */
};

static inline void virtual_circuit_send_connect(struct nopal_at at)
{
	const struct virtual_circuit *self = nopal_state(at);
	uint32_t length = handshake_connect_bytes(at, VIRTUAL_CIRCUIT_CONNECT);
	struct nopal_reader early = { 0 };
	struct nopal_writer writer;
	struct nopal_segment *segment =
		nopal_control_begin(at, VIRTUAL_CIRCUIT_CONNECT, length, &writer);

	if (!segment)
		return;
	if (!self->connect.cookie_given)
		early = nopal_early_pack(at.session,
					 handshake_early_room(length,
							      nopal_session_composition(at.session),
							      nopal_extensions_bytes(at.session)));
	handshake_write_request(at.session, &writer, &self->connect);
	handshake_write_rest(&writer, &self->connect, early);
	nopal_control_send(at.session, segment, length);
}

static inline struct handshake_accept virtual_circuit_accept(struct nopal_at at)
{
	const struct virtual_circuit *self = nopal_state(at);

	return (struct handshake_accept){
		.nonce = self->connect.nonce,
		.id = nopal_session_local_id(at.session),
		.initial = (uint64_t)nopal_shared_get(at, VIRTUAL_CIRCUIT_LOCAL),
	};
}

static inline void virtual_circuit_send_accept(struct nopal_at at)
{
	const struct handshake_accept accept = virtual_circuit_accept(at);
	uint32_t length = HANDSHAKE_ACCEPT_BYTES + nopal_extensions_bytes(at.session);
	struct nopal_writer writer;
	struct nopal_segment *segment =
		nopal_control_begin(at, VIRTUAL_CIRCUIT_ACCEPT, length, &writer);

	if (!segment)
		return;
	handshake_write_answer(at.session, &writer, &accept);
	nopal_control_send(at.session, segment, length);
}

static inline void virtual_circuit_send_close(struct nopal_at at, unsigned kind, bool known)
{
	const struct virtual_circuit *self = nopal_state(at);
	struct nopal_writer writer;
	struct nopal_segment *segment =
		nopal_control_begin(at, kind, HANDSHAKE_CLOSE_BYTES, &writer);

	if (!segment)
		return;
	nopal_write(&writer, self->connect.nonce, HANDSHAKE_NONCE_BYTES);
	nopal_write(&writer, known ? HANDSHAKE_KNOWN : 0, 1);
	nopal_control_send(at.session, segment, HANDSHAKE_CLOSE_BYTES);
}

#endif
