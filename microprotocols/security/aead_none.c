/* SPDX-License-Identifier: MIT */
/*
 * aead_none.c -- without libcrypto: nothing can be sealed, and aead says so when a config names it.
 */
#include "aead_crypto.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

bool nopal__aead_found(void)
{
	return false;
}

size_t nopal__aead_key_bytes(int cipher)
{
	return NOPAL__AEAD_KEY_MAX_BYTES;
}

void *nopal__aead_key_new(int cipher, const uint8_t *key, bool seals)
{
	return NULL;
}

void nopal__aead_key_free(void *key)
{
}

bool nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
		      uint8_t *bytes, size_t length, uint8_t *tag)
{
	return false;
}

bool nopal__aead_open(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
		      uint8_t *bytes, size_t length, const uint8_t *tag)
{
	return false;
}

bool nopal__aead_public(const uint8_t *own, uint8_t *ret_public)
{
	return false;
}

bool nopal__aead_exchange(const uint8_t *own, const uint8_t *peer, uint8_t *ret_shared)
{
	return false;
}

bool nopal__aead_hash(const struct nopal__aead_bytes *pieces, size_t count, uint8_t *ret_hash)
{
	return false;
}

bool nopal__aead_mac(struct nopal__aead_bytes key, struct nopal__aead_bytes bytes, uint8_t *ret_mac)
{
	return false;
}

bool nopal__aead_extract(struct nopal__aead_bytes salt, struct nopal__aead_bytes secret,
			 uint8_t *ret_key)
{
	return false;
}

bool nopal__aead_expand(const uint8_t *key, struct nopal__aead_bytes info, uint8_t *ret_bytes,
			size_t length)
{
	return false;
}

bool nopal__aead_same(const void *a, const void *b, size_t length)
{
	return false;
}

void nopal__aead_forget(void *secret, size_t length)
{
	volatile uint8_t *at = secret;

	while (length--)
		*at++ = 0;
}
