/* SPDX-License-Identifier: MIT */
/*
 * aead.h -- the state of aead, its secrets, and the layout of a trailer.
 *
 *   aead.c            the manual page, the agreement, life and end
 *   aead_datagram.c   seals and opens datagrams, and goes from phase to phase
 *   aead_schedule.c   which keys there are
 *   aead_openssl.c    cryptography
 */
#ifndef NOPAL_AEAD_H
#define NOPAL_AEAD_H

#include "aead_schedule.h"
#include <nopal/microprotocol.h>

struct aead_parameters {
	int64_t cipher, psk_file, update, forgeries;
};

enum {
	AEAD_WORD_BYTES = 4,
	AEAD_OVERHEAD_BYTES = AEAD_WORD_BYTES + NOPAL__AEAD_TAG_BYTES,
	AEAD_CLEAR_BYTES = NOPAL_CLEAR_BYTES + AEAD_WORD_BYTES,
	AEAD_PHASE_SHIFT = 30, /* in the word */
	AEAD_HEARD_SHIFT = 28,
	AEAD_PHASE_MASK = 3,
	AEAD_PHASES = 3, /* that take turns */
	AEAD_ANSWER_PHASE = 0,
	AEAD_COUNTER_BITS = 28,
	AEAD_WINDOW = 8192, /* counters that may be overtaken, as in WireGuard */
	/* AES-GCM: datagrams that one key may seal (RFC 9001, section 6.6) */
	AEAD_SEALED_MAX = 1 << 23,
};

/* In a piece of memory of its own: a state may move and leave its bytes behind. */
struct aead_secrets {
	uint8_t own[NOPAL__AEAD_PUBLIC_BYTES]; /* private key, until agreed */
	uint8_t early[NOPAL__AEAD_HASH_BYTES]; /* until agreed */
	uint8_t answer[NOPAL__AEAD_HASH_BYTES];
	uint8_t public[NOPAL__AEAD_PUBLIC_BYTES];
	uint8_t peer[NOPAL__AEAD_PUBLIC_BYTES];
	struct nopal__aead_phase write;
	struct nopal__aead_phase read[AEAD_PHASES]; /* by number modulo */
	int64_t forged;				    /* did not open */
	bool ready;				    /* the keys of the secrets are made */
};

struct aead {
	struct aead_secrets *secrets;
	struct nopal_numbers seen;
	uint64_t written;	/* datagrams that were sealed: the counter */
	uint64_t since;		/* of them in this phase */
	uint32_t writes, reads; /* numbers of our phases, from 0 */
	int64_t old_until_ns;
	uint8_t answer_byte;
	bool agreed;	/* there are secrets */
	bool confirmed; /* the peer has heard our phase, or it is the first */
};

/* After the agreement, and after each rest: keys of the secrets. */
bool nopal__aead_make_ready(struct nopal_at at, struct aead *self);
/* Gives them back; the present secrets are enough to go on with. */
void nopal__aead_end_keys(struct aead *self);
/* struct nopal_seal */
void nopal__aead_close_datagram(struct nopal_at at, uint8_t *bytes, size_t length);
bool nopal__aead_open_datagram(struct nopal_at at, uint8_t *bytes, size_t length);

#endif
