/* SPDX-License-Identifier: MIT */
/*
 * virtual_circuit.h -- the state of virtual_circuit, the segments that it sends, and request and
 * answer with the extensions of other microprotocols.
 *
 *
 *   request   all of connect before the cookie; it ends with the opener's extensions
 *   answer    accept; it ends with the listener's
 *
 * Both are the same however often they are sent, and so both sides can show them, byte by byte, to
 * the microprotocols whose extensions they hold.
 */
#ifndef NOPAL_VIRTUAL_CIRCUIT_H
#define NOPAL_VIRTUAL_CIRCUIT_H

#include "retries.h"

enum {
	HANDSHAKE_REPLY_COOKIE = 1, /* type of a reply */
	HANDSHAKE_NONCE_BYTES = 8,
	HANDSHAKE_NUMBER_BYTES = 4,
	HANDSHAKE_COOKIE_BYTES = 8,
	HANDSHAKE_ID_BYTES = 4,
	HANDSHAKE_FIELDS_BYTES = 8 + 4 + 1 + 1 + 8, /* of connect, after the text */
	HANDSHAKE_ACCEPT_BYTES = 8 + 4 + 4,
	HANDSHAKE_CLOSE_BYTES = 8 + 1,
	/* With the runtime's 21 bytes of head a datagram of 1200, as QUIC's first (RFC 9000,
	 * section 14.1): more than any reply, less than any path's MTU. */
	HANDSHAKE_CONNECT_BYTES = 1200 - 21,
	/* Flag of close: its sender has seen the other's close.  Of close_ack:
	 * its sender's own close is acknowledged. */
	HANDSHAKE_KNOWN = 1,
};

static const int64_t HANDSHAKE_EPOCH_NS = 8 * NOPAL_SECOND;
/* 2^64 divided by the golden ratio: spreads what it multiplies (Knuth). */
static const uint64_t HANDSHAKE_SPREAD = UINT64_C(0x9e3779b97f4a7c15);

struct handshake_connect {
	uint64_t nonce; /* the opener's, names the connection */
	uint64_t initial;
	uint64_t cookie_given, cookie_epoch, cookie;
};

struct handshake_accept {
	uint64_t nonce, id, initial;
};

/* `*ret_known` are the bytes before the cookie, which both sides know alike.  The last of them are
 * the extensions. */
static inline bool handshake_read_connect(struct nopal_reader reader, uint32_t extension_bytes,
					  struct handshake_connect *ret_connect,
					  struct nopal_reader *ret_known)
{
	struct nopal_reader known = reader;
	struct handshake_connect read;
	uint64_t zeros = 0;

	while (nopal_read(&reader, 1))
		;
	read.nonce = nopal_read(&reader, HANDSHAKE_NONCE_BYTES);
	read.initial = nopal_read(&reader, HANDSHAKE_NUMBER_BYTES);
	nopal_read_bytes(&reader, extension_bytes);
	known.end = reader.at;
	read.cookie_given = nopal_read(&reader, 1);
	read.cookie_epoch = nopal_read(&reader, 1);
	read.cookie = nopal_read(&reader, HANDSHAKE_COOKIE_BYTES);
	while (nopal_read_left(&reader))
		zeros |= nopal_read(&reader, 1);
	if (!nopal_read_complete(&reader) || zeros || !read.initial || read.cookie_given > 1 ||
	    (!read.cookie_given && (read.cookie_epoch || read.cookie)))
		return false;
	*ret_connect = read;
	*ret_known = known;
	return true;
}

/* Up to the extensions, which are so many bytes; a text that is too long is cut. */
static inline void handshake_write_known(struct nopal_writer *writer, const char *text,
					 uint32_t extension_bytes,
					 const struct handshake_connect *connect)
{
	size_t room = (size_t)(writer->end - writer->at);
	size_t others = HANDSHAKE_FIELDS_BYTES + 1 + extension_bytes;

	for (; room > others && *text; room--)
		nopal_write(writer, (uint8_t)*text++, 1);
	nopal_write(writer, 0, 1);
	nopal_write(writer, connect->nonce, HANDSHAKE_NONCE_BYTES);
	nopal_write(writer, connect->initial, HANDSHAKE_NUMBER_BYTES);
}

/* Behind the extensions, to the writer's end. */
static inline void handshake_write_proof(struct nopal_writer *writer,
					 const struct handshake_connect *connect)
{
	nopal_write(writer, connect->cookie_given, 1);
	nopal_write(writer, connect->cookie_epoch, 1);
	nopal_write(writer, connect->cookie, HANDSHAKE_COOKIE_BYTES);
	while (!writer->full && writer->at < writer->end)
		nopal_write(writer, 0, 1);
}

/* A listener without state: the cookie proves the address of the opener that shows it.  `epoch` is
 * of the listener's clock; `ours`: 0, or the nonce of the one session for which the cookie is
 * made. */
static inline uint64_t handshake_cookie(const struct nopal_request *request, uint64_t epoch,
					uint64_t ours, const struct handshake_connect *connect)
{
	uint64_t theirs = connect->nonce + connect->initial * HANDSHAKE_SPREAD;

	return nopal_request_mac(request, epoch, theirs + ours * HANDSHAKE_SPREAD);
}

static inline bool handshake_read_cookie(struct nopal_reader reader,
					 struct handshake_connect *ret_connect)
{
	uint64_t type = nopal_read(&reader, 1);

	ret_connect->nonce = nopal_read(&reader, HANDSHAKE_NONCE_BYTES);
	ret_connect->cookie = nopal_read(&reader, HANDSHAKE_COOKIE_BYTES);
	ret_connect->cookie_epoch = nopal_read(&reader, 1);
	return nopal_read_complete(&reader) && type == HANDSHAKE_REPLY_COOKIE;
}

static inline void handshake_write_cookie(struct nopal_writer *writer,
					  const struct handshake_connect *connect)
{
	nopal_write(writer, HANDSHAKE_REPLY_COOKIE, 1);
	nopal_write(writer, connect->nonce, HANDSHAKE_NONCE_BYTES);
	nopal_write(writer, connect->cookie, HANDSHAKE_COOKIE_BYTES);
	nopal_write(writer, connect->cookie_epoch, 1);
}

/* Admits an opener that has proven its address; the others get a cookie, which is good in its epoch
 * and in the next.  One word is compared at once: timing does not show where it differs. */
static inline enum nopal_admission_verdict handshake_prove(const struct nopal_request *request,
							   uint64_t ours,
							   struct handshake_connect *connect,
							   struct nopal_writer *reply)
{
	uint64_t now = (uint64_t)(request->now_ns / HANDSHAKE_EPOCH_NS);
	uint64_t age = (uint8_t)(now - connect->cookie_epoch);

	if (connect->cookie_given && age <= 1 && age <= now &&
	    (connect->cookie ^ handshake_cookie(request, now - age, ours, connect)) == 0)
		return NOPAL_ADMIT_ACCEPT;
	connect->cookie_epoch = now;
	connect->cookie = handshake_cookie(request, now, ours, connect);
	handshake_write_cookie(reply, connect);
	return reply->full ? NOPAL_ADMIT_DROP : NOPAL_ADMIT_REPLY;
}

/* A listener's word on a request, before it has any state. */
static inline enum nopal_admission_verdict handshake_admit(struct nopal_at at,
							   struct nopal_request *request,
							   struct nopal_writer *reply)
{
	struct handshake_connect connect;
	struct nopal_reader known;

	(void)at;
	if (!handshake_read_connect(request->body, request->extension_bytes, &connect, &known))
		return NOPAL_ADMIT_DROP;
	return handshake_prove(request, 0, &connect, reply);
}

/* Of two that ask each other, the one with the larger nonce goes on asking, and the other one
 * answers.  Equal ones are drawn anew, at both sides.  `*ret_stays`: it is we who ask. */
static inline enum nopal_admission_verdict handshake_rendezvous(struct nopal_session *session,
								const struct nopal_request *request,
								struct handshake_connect *ours,
								struct nopal_writer *reply,
								bool *ret_stays)
{
	struct handshake_connect theirs;
	struct nopal_reader known;

	*ret_stays = false;
	if (!handshake_read_connect(request->body, request->extension_bytes, &theirs, &known))
		return NOPAL_ADMIT_DROP;
	if (theirs.nonce > ours->nonce)
		return handshake_prove(request, ours->nonce, &theirs, reply);
	*ret_stays = theirs.nonce < ours->nonce;
	if (!*ret_stays) {
		ours->nonce = nopal_random(session);
		ours->cookie_given = false;
	}
	return NOPAL_ADMIT_DROP;
}

/* `*ret_extensions` begins at the extensions. */
static inline bool handshake_read_accept(struct nopal_reader reader, uint32_t extension_bytes,
					 struct handshake_accept *ret_accept,
					 struct nopal_reader *ret_extensions)
{
	ret_accept->nonce = nopal_read(&reader, HANDSHAKE_NONCE_BYTES);
	ret_accept->id = nopal_read(&reader, HANDSHAKE_ID_BYTES);
	ret_accept->initial = nopal_read(&reader, HANDSHAKE_NUMBER_BYTES);
	*ret_extensions = reader;
	nopal_read_bytes(&reader, extension_bytes);
	return nopal_read_complete(&reader) && ret_accept->id && ret_accept->initial;
}

static inline void handshake_write_accept(struct nopal_writer *writer,
					  const struct handshake_accept *accept)
{
	nopal_write(writer, accept->nonce, HANDSHAKE_NONCE_BYTES);
	nopal_write(writer, accept->id, HANDSHAKE_ID_BYTES);
	nopal_write(writer, accept->initial, HANDSHAKE_NUMBER_BYTES);
}

static inline bool handshake_read_close(struct nopal_reader reader, uint64_t *ret_nonce,
					bool *ret_known)
{
	uint64_t flags;

	*ret_nonce = nopal_read(&reader, HANDSHAKE_NONCE_BYTES);
	flags = nopal_read(&reader, 1);
	*ret_known = flags == HANDSHAKE_KNOWN;
	return nopal_read_complete(&reader) && flags <= HANDSHAKE_KNOWN;
}

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
