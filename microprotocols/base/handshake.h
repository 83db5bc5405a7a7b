/* SPDX-License-Identifier: MIT */
/*
 * handshake.h -- segments of virtual_circuit, to bytes and back.
 *
 *   connect   text of the composition and a zero byte, nonce 8, initial number
 *             4, extensions; cookie given 1, cookie epoch 1, cookie 8; without a
 *             cookie, and where they are not 0, bytes of early data 2, early data;
 *             zeros to the end
 *   cookie    type 1, nonce 8, cookie 8, cookie epoch 1
 *   accept    nonce 8, session id 4, initial number 4, extensions
 *   close, close_ack   nonce 8, flags 1
 *
 * A read is of one form only, or fails as a whole.
 */
#ifndef NOPAL_HANDSHAKE_H
#define NOPAL_HANDSHAKE_H

#include <string.h>

#include <nopal/microprotocol.h>

enum {
	HANDSHAKE_REPLY_COOKIE = 1, /* type of a reply */
	HANDSHAKE_NONCE_BYTES = 8,
	HANDSHAKE_NUMBER_BYTES = 4,
	HANDSHAKE_COOKIE_BYTES = 8,
	HANDSHAKE_ID_BYTES = 4,
	HANDSHAKE_FIELDS_BYTES = 8 + 4 + 1 + 1 + 8, /* of connect, after the text */
	HANDSHAKE_PROOF_BYTES = 1 + 1 + 8,	    /* of these, the cookie's */
	HANDSHAKE_EARLY_BYTES = 2,		    /* length of early data */
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

/* Behind the cookie; not bad where there are none. */
static inline struct nopal_reader handshake_read_early(struct nopal_reader *reader)
{
	uint64_t length = nopal_read_left(reader) < HANDSHAKE_EARLY_BYTES
				  ? 0
				  : nopal_read(reader, HANDSHAKE_EARLY_BYTES);
	const uint8_t *bytes = nopal_read_bytes(reader, length);

	return bytes ? nopal_reader_over(bytes, length) : (struct nopal_reader){ .bad = true };
}

/* Of a connect whose bytes before the cookie are these. */
static inline struct nopal_reader handshake_early(struct nopal_reader connect,
						  struct nopal_reader known)
{
	connect.at = known.end;
	nopal_read_bytes(&connect, HANDSHAKE_PROOF_BYTES);
	return handshake_read_early(&connect);
}

/* `*ret_known` are the bytes before the cookie, which both sides know alike.  The last of them are
 * the extensions. */
static inline bool handshake_read_connect(struct nopal_reader reader, uint32_t extension_bytes,
					  struct handshake_connect *ret_connect,
					  struct nopal_reader *ret_known)
{
	struct nopal_reader known = reader, early;
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
	early = handshake_read_early(&reader);
	while (nopal_read_left(&reader))
		zeros |= nopal_read(&reader, 1);
	if (!nopal_read_complete(&reader) || zeros || !read.initial || read.cookie_given > 1 ||
	    (!read.cookie_given && (read.cookie_epoch || read.cookie)) ||
	    (read.cookie_given && nopal_read_left(&early)))
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

/* How much early data a connect of this length has room for. */
static inline uint32_t handshake_early_room(uint32_t length, const char *text,
					    uint32_t extension_bytes)
{
	size_t others =
		strlen(text) + 1 + HANDSHAKE_FIELDS_BYTES + extension_bytes + HANDSHAKE_EARLY_BYTES;

	return length > others ? (uint32_t)(length - others) : 0;
}

/* Behind the extensions, to the writer's end. */
static inline void handshake_write_rest(struct nopal_writer *writer,
					const struct handshake_connect *connect,
					struct nopal_reader early)
{
	size_t length = nopal_read_left(&early);

	nopal_write(writer, connect->cookie_given, 1);
	nopal_write(writer, connect->cookie_epoch, 1);
	nopal_write(writer, connect->cookie, HANDSHAKE_COOKIE_BYTES);
	if (length) {
		nopal_write(writer, length, HANDSHAKE_EARLY_BYTES);
		nopal_write_bytes(writer, early.at, length);
	}
	while (!writer->full && writer->at < writer->end)
		nopal_write(writer, 0, 1);
}

static inline void handshake_write_proof(struct nopal_writer *writer,
					 const struct handshake_connect *connect)
{
	handshake_write_rest(writer, connect, (struct nopal_reader){ 0 });
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
	enum nopal_admission_verdict verdict = NOPAL_ADMIT_REPLY;
	struct handshake_connect connect;
	struct nopal_reader known, early;

	(void)at;
	if (!handshake_read_connect(request->body, request->extension_bytes, &connect, &known))
		return NOPAL_ADMIT_DROP;
	early = handshake_early(request->body, known);
	known.at = known.end - request->extension_bytes;
	if (nopal_read_left(&early))
		verdict = nopal_early_admit(request, known, early);
	return verdict == NOPAL_ADMIT_REPLY ? handshake_prove(request, 0, &connect, reply)
					    : verdict;
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
	struct nopal_reader known, early;

	*ret_stays = false;
	if (!handshake_read_connect(request->body, request->extension_bytes, &theirs, &known))
		return NOPAL_ADMIT_DROP;
	early = handshake_early(request->body, known);
	if (nopal_read_left(&early))
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

#endif
