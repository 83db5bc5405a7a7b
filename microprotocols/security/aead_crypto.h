/* SPDX-License-Identifier: MIT */
/*
 * aead_crypto.h -- the cryptographic functions of aead.
 *
 *   seal, open    ChaCha20-Poly1305 (RFC 8439), AES-128-GCM (NIST SP 800-38D)
 *   exchange      X25519 (RFC 7748)
 *   extract...    HKDF with SHA-256 (RFC 5869), HMAC (RFC 2104)
 *
 * aead_openssl.c asks libcrypto; where that was not there, aead_none.c says so, and no config with
 * aead loads.  A function that returns bool returns false where it failed.
 */
#ifndef NOPAL_AEAD_CRYPTO_H
#define NOPAL_AEAD_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NOPAL__AEAD_CHACHA20_POLY1305, /* ciphers: places among the choices */
	NOPAL__AEAD_AES_128_GCM,
	NOPAL__AEAD_NONCE_BYTES = 12,
	NOPAL__AEAD_TAG_BYTES = 16,
	NOPAL__AEAD_KEY_MAX_BYTES = 32,
	NOPAL__AEAD_HASH_BYTES = 32,
	NOPAL__AEAD_PUBLIC_BYTES = 32, /* of X25519; private keys are as long */
};

struct nopal__aead_bytes {
	const void *at;
	size_t length;
};

bool nopal__aead_found(void);
size_t nopal__aead_key_bytes(int cipher);

/* A key made ready, for one direction; NULL: it cannot be. */
void *nopal__aead_key_new(int cipher, const uint8_t *key, bool seals);
void nopal__aead_key_free(void *key);
/* In place.  `clear` is authenticated and not changed.  Where open fails, the bytes are worth
 * nothing. */
bool nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
		      uint8_t *bytes, size_t length, uint8_t *tag);
bool nopal__aead_open(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
		      uint8_t *bytes, size_t length, const uint8_t *tag);

/* Of the private key `own` and the base point, or the peer's public key. */
bool nopal__aead_public(const uint8_t *own, uint8_t *ret_public);
bool nopal__aead_exchange(const uint8_t *own, const uint8_t *peer, uint8_t *ret_shared);

/* SHA-256 of pieces, each behind its length (8 bytes, big endian). */
bool nopal__aead_hash(const struct nopal__aead_bytes *pieces, size_t count, uint8_t *ret_hash);
bool nopal__aead_mac(struct nopal__aead_bytes key, struct nopal__aead_bytes bytes,
		     uint8_t *ret_mac);
bool nopal__aead_extract(struct nopal__aead_bytes salt, struct nopal__aead_bytes secret,
			 uint8_t *ret_key);
bool nopal__aead_expand(const uint8_t *key, struct nopal__aead_bytes info, uint8_t *ret_bytes,
			size_t length);

/* In a time that tells nothing of where they differ. */
bool nopal__aead_same(const void *a, const void *b, size_t length);
/* Overwrites a secret; the compiler does not leave that out. */
void nopal__aead_forget(void *secret, size_t length);

#endif
