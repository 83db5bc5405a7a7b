/* SPDX-License-Identifier: MIT */
/*
 * aead -- nobody else reads, changes, repeats or turns back a datagram.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section II.A (privacy, integrity); as
 *            RFC 9001, sections 5 and 6, in the large.
 * Differs:   from RFC 9001: keys are agreed on in the request to open and its
 *            answer, without certificates: only a key that both had before
 *            (psk_file) authenticates the peer.  A counter of its own makes the
 *            nonce, so that control is sealed like data; each direction changes its
 *            key alone.
 * Wire:      20 bytes behind every datagram: phase 2 bits, phase that was heard 2
 *            bits, counter 28 bits; tag 16.  32 bytes in request and answer each: a
 *            public key of X25519.
 *
 * The first byte and the receiver's session id are in clear.  They and the first four bytes of the
 * trailer are authenticated, all other bytes are encrypted.
 *
 *   phase 0     the listener's answer, which the opener must read to have keys at
 *               all: nothing in it is secret, and it has a MAC (of a key from
 *               psk_file and the request), so that there is no nonce to repeat.
 *   phase 1..3  all other datagrams, in turn.  A side goes on to the next when its
 *               peer has shown that it heard the present one; the peer follows with
 *               the first datagram of the next that opens.  The one before is kept
 *               for three seconds, for datagrams that were overtaken.
 *
 * Messages that travel in the request itself (early_data) have a key of their own, of psk_file and
 * of that request; without psk_file there is none.  They are not forward secret, and copies of them
 * are kept out by the replay guard, not by the counter.
 *
 * A counter of 64 bits runs through all phases; 28 of it travel.  Which ones were seen is noted
 * once a datagram has opened: each opens once.  A session that rests notes only the last: a
 * datagram that was overtaken before, and comes then, is refused like one that is repeated.
 */
#include <string.h>

#include "aead.h"

enum { AEAD_CIPHER, AEAD_PSK_FILE, AEAD_UPDATE, AEAD_FORGERIES };
enum { AEAD_ID_BYTES = 4 };

/* ------------------------------------------------------------------ agreeing */

static void aead_write_extension(struct nopal_at at, uint8_t *bytes)
{
	const struct aead *self = nopal_state(at);

	memcpy(bytes, self->secrets->public, NOPAL__AEAD_PUBLIC_BYTES);
}

static bool aead_read_extension(struct nopal_at at, const uint8_t *bytes)
{
	const struct aead *self = nopal_state(at);

	if (self->agreed)
		return nopal__aead_same(self->secrets->peer, bytes, NOPAL__AEAD_PUBLIC_BYTES);
	memcpy(self->secrets->peer, bytes, NOPAL__AEAD_PUBLIC_BYTES);
	return true;
}

static void aead_opener_id(const struct nopal_session *session, uint8_t *ret_bytes)
{
	struct nopal_writer writer = nopal_writer_over(ret_bytes, AEAD_ID_BYTES);

	nopal_write(&writer,
		    nopal_session_is_opener(session) ? nopal_session_local_id(session)
						     : nopal_session_peer_id(session),
		    AEAD_ID_BYTES);
}

static struct nopal__aead_bytes aead_composition(const struct nopal_session *session)
{
	const char *text = nopal_session_composition(session);

	return (struct nopal__aead_bytes){ text, strlen(text) };
}

static bool aead_answer_key(const struct nopal_session *session, struct aead_secrets *secrets)
{
	uint8_t id[AEAD_ID_BYTES];

	aead_opener_id(session, id);
	return nopal__aead_answer_key(secrets->early, aead_composition(session),
				      (struct nopal__aead_bytes){ id, sizeof(id) },
				      nopal_session_is_opener(session) ? secrets->public
								       : secrets->peer,
				      secrets->answer);
}

/* The secrets of both directions: of the key exchange, and of a transcript of the composition, the
 * request and the answer. */
static bool aead_agreed(struct nopal_at at, const struct nopal_opening *opening)
{
	static const char label[] = "nopal aead transcript";
	struct aead *self = nopal_state(at);
	struct aead_secrets *secrets = self->secrets;
	bool opener = nopal_session_is_opener(at.session), good;
	uint8_t *ours = secrets->write.secret, *theirs = secrets->read->secret;
	uint8_t exchanged[NOPAL__AEAD_PUBLIC_BYTES];
	uint8_t transcript[NOPAL__AEAD_HASH_BYTES];
	uint8_t id[AEAD_ID_BYTES];
	const struct nopal__aead_bytes pieces[] = {
		{ label, sizeof(label) - 1 },
		aead_composition(at.session),
		{ id, sizeof(id) },
		{ opening->request, opening->request_length },
		{ opening->answer, opening->answer_length },
	};

	if (self->agreed)
		return false;
	aead_opener_id(at.session, id);
	good = nopal__aead_hash(pieces, sizeof(pieces) / sizeof(*pieces), transcript) &&
	       nopal__aead_exchange(secrets->own, secrets->peer, exchanged) &&
	       nopal__aead_agree(secrets->early, exchanged, transcript, opener ? ours : theirs,
				 opener ? theirs : ours);
	nopal__aead_forget(exchanged, sizeof(exchanged));
	if (!good || !aead_answer_key(at.session, secrets))
		return false;
	nopal__aead_forget(secrets->own, sizeof(secrets->own));
	nopal__aead_forget(secrets->early, sizeof(secrets->early));
	self->agreed = true;
	self->confirmed = true;		  /* the peer can read this phase and the next */
	nopal__aead_make_ready(at, self); /* else when it is needed */
	return true;
}

/* ------------------------------------------------------------------ early data */

/* The phase that seals the messages of a request, ready; false: no key was shared before, or the
 * session has later ones. */
static bool aead_early_phase(struct nopal_at at, struct nopal_reader context, bool seals,
			     struct nopal__aead_phase *ret_phase)
{
	const struct aead_parameters *set = nopal_parameters(at);
	const struct aead *self = nopal_state(at);
	const struct aead_secrets *secrets = self->secrets;
	uint8_t id[AEAD_ID_BYTES];
	size_t shared;

	nopal_file(at, AEAD_PSK_FILE, &shared);
	aead_opener_id(at.session, id);
	return shared && !self->agreed &&
	       nopal__aead_early_secret(
		       secrets->early, aead_composition(at.session),
		       (struct nopal__aead_bytes){ id, sizeof(id) },
		       nopal_session_is_opener(at.session) ? secrets->public : secrets->peer,
		       (struct nopal__aead_bytes){ context.at, nopal_read_left(&context) },
		       ret_phase) &&
	       nopal__aead_phase_begin(ret_phase, (int)set->cipher, seals);
}

static bool aead_close_early(struct nopal_at at, struct nopal_reader context, uint8_t *bytes,
			     size_t length)
{
	const struct nopal__aead_bytes clear = { context.at, nopal_read_left(&context) };
	struct nopal__aead_phase phase;
	bool sealed = aead_early_phase(at, context, true, &phase);

	if (sealed) {
		sealed = nopal__aead_seal(phase.key, phase.nonce, clear, bytes, length,
					  bytes + length);
		nopal__aead_phase_forget(&phase);
	}
	return sealed;
}

static bool aead_open_early(struct nopal_at at, struct nopal_reader context, uint8_t *bytes,
			    size_t length)
{
	const struct nopal__aead_bytes clear = { context.at, nopal_read_left(&context) };
	struct nopal__aead_phase phase;
	bool opened = aead_early_phase(at, context, false, &phase);

	if (opened) {
		opened = nopal__aead_open(phase.key, phase.nonce, clear, bytes, length,
					  bytes + length);
		nopal__aead_phase_forget(&phase);
	}
	return opened;
}

/* ----------------------------------------------------------------------- life */

static int aead_open(struct nopal_at at)
{
	struct aead *self = nopal_state(at);
	struct aead_secrets *secrets = nopal_alloc(at.session, sizeof(*secrets));
	struct nopal__aead_bytes psk;

	if (!secrets)
		return -1;
	self->secrets = secrets;
	self->answer_byte = nopal_answer_byte(at.session);
	psk.at = nopal_file(at, AEAD_PSK_FILE, &psk.length);
	nopal_random_bytes(at.session, secrets->own, sizeof(secrets->own));
	if (nopal_numbers_init(&self->seen, 0, AEAD_WINDOW) < 0 ||
	    !nopal__aead_public(secrets->own, secrets->public) ||
	    !nopal__aead_early(psk, secrets->early) ||
	    (nopal_session_is_opener(at.session) && !aead_answer_key(at.session, secrets)))
		return -1;
	return 0;
}

static void aead_idle(struct nopal_at at)
{
	struct aead *self = nopal_state(at);

	nopal__aead_end_keys(self);
	nopal_numbers_skip(&self->seen, self->seen.end);
	nopal_numbers_idle(at.session, &self->seen);
}

static void aead_end(struct nopal_at at)
{
	struct aead *self = nopal_state(at);

	aead_idle(at);
	nopal__aead_forget(self->secrets, sizeof(*self->secrets));
	self->agreed = false;
}

static void aead_validate(const void *parameters, struct nopal_problems *problems)
{
	(void)parameters;
	if (!nopal__aead_found())
		nopal_problem(problems, "cipher", "this build has no cryptography",
			      "install libcrypto (Debian: libssl-dev) and "
			      "build again, or leave aead out");
}

const struct nopal_microprotocol nopal_aead = {
	NOPAL_DESCRIBE(aead, security,
		       "nobody else reads, changes, repeats or turns back a datagram"),
	.provides = NOPAL_ROLES({ "integrity", true }, { "confidentiality", true }),
	.needs = NOPAL_RELATIONS(
		{ "network", "it seals datagrams, which leave from the lowest layer" },
		{ "connection", "keys are agreed on while a session opens" }),
	.promises =
		NOPAL_PROMISES({ NOPAL_INTEGRITY, NOPAL_SEAL_STAGE, NOPAL_GIVES, NOPAL_READERS,
				 "every datagram is encrypted and authenticated" },
			       { NOPAL_OPENING, NOPAL_OPENING_STAGE, NOPAL_GIVES, NOPAL_KNOWN_PEER,
				 "the peer has the key of the file", .when = "psk_file" }),
	.parameters_size = sizeof(struct aead_parameters),
	.parameters = NOPAL_PARAMETERS(
		[AEAD_CIPHER] = NOPAL_WORDS(
			aead, cipher, "cipher", "aes_128_gcm", "chacha20_poly1305|aes_128_gcm",
			"cipher of datagrams; chacha20_poly1305 where the processor has no AES",
			.wire = true),
		[AEAD_PSK_FILE] = { .name = "psk_file",
				    .unit = NOPAL_FILE,
				    .offset = offsetof(struct aead_parameters, psk_file),
				    .initial = "",
				    .doc = "a key that both sides had before, of 16 bytes at least" },
		[AEAD_UPDATE] = NOPAL_NUMBER(aead, update, "update", COUNT, "4194304", "2",
					     "8388607", "datagrams until the key changes"),
		[AEAD_FORGERIES] = NOPAL_NUMBER(
			aead, forgeries, "forgeries", COUNT, "68719476736", "1", "68719476736",
			"datagrams that do not open, until the session ends")),
	.validate = aead_validate,
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
	.state_size = sizeof(struct aead),
	.open = aead_open,
	.idle = aead_idle,
	.close = aead_end,
	.seal = &(const struct nopal_seal){ .overhead = AEAD_OVERHEAD_BYTES,
					    .close = nopal__aead_close_datagram,
					    .open = nopal__aead_open_datagram,
					    .close_early = aead_close_early,
					    .open_early = aead_open_early },
	.extension = &(const struct nopal_extension){ .bytes = NOPAL__AEAD_PUBLIC_BYTES,
						      .write = aead_write_extension,
						      .read = aead_read_extension,
						      .agreed = aead_agreed },
};
