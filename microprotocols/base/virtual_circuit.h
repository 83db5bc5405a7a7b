/* SPDX-License-Identifier: MIT */
/*
 * virtual_circuit.h -- the state of virtual_circuit, and the segments that it sends.
 */
#ifndef NOPAL_VIRTUAL_CIRCUIT_H
#define NOPAL_VIRTUAL_CIRCUIT_H

#include "handshake.h"
#include "handshake_extensions.h"
#include "retries.h"

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
	struct nopal_writer writer;
	struct nopal_segment *segment =
		nopal_control_begin(at, VIRTUAL_CIRCUIT_CONNECT, length, &writer);

	if (!segment)
		return;
	handshake_write_request(at.session, &writer, &self->connect);
	handshake_write_proof(&writer, &self->connect);
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
