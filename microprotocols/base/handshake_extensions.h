/* SPDX-License-Identifier: MIT */
/*
 * handshake_extensions.h -- request and answer with the extensions of other microprotocols.
 *
 *   request   all of connect before the cookie; it ends with the opener's extensions
 *   answer    accept; it ends with the listener's
 *
 * Both are the same however often they are sent, and so both sides can show them, byte by byte, to
 * the microprotocols whose extensions they hold.
 */
#ifndef NOPAL_HANDSHAKE_EXTENSIONS_H
#define NOPAL_HANDSHAKE_EXTENSIONS_H

#include "handshake.h"

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
	if (!nopal_extensions_read(session, &request))
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

#endif
