/* SPDX-License-Identifier: MIT */
/*
 * aead_test_key.c -- in place of the cryptography of aead, by the linker's --wrap: what is sealed
 * stays as it is, with one tag for all; an exchange of keys adds them.  A fuzzer sees and changes
 * the plain text, and all around the cipher runs as ever:
 * counters, phases, what was seen, the hashes of the handshake.
 */
#include <string.h>

#include "aead_crypto.h"
#include "forge.h"

bool __wrap_nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
			     uint8_t *bytes, size_t length, uint8_t *tag);
bool __wrap_nopal__aead_open(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
			     uint8_t *bytes, size_t length, const uint8_t *tag);
bool __wrap_nopal__aead_public(const uint8_t *own, uint8_t *ret_public);
bool __wrap_nopal__aead_exchange(const uint8_t *own, const uint8_t *peer, uint8_t *ret_shared);

bool __wrap_nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
			     uint8_t *bytes, size_t length, uint8_t *tag)
{
	(void)key, (void)nonce, (void)clear, (void)bytes, (void)length;
	memset(tag, FORGE_TAG, NOPAL__AEAD_TAG_BYTES);
	return true;
}

bool __wrap_nopal__aead_open(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
			     uint8_t *bytes, size_t length, const uint8_t *tag)
{
	(void)key, (void)nonce, (void)clear, (void)bytes, (void)length;
	for (size_t i = 0; i < NOPAL__AEAD_TAG_BYTES; i++)
		if (tag[i] != FORGE_TAG)
			return false;
	return true;
}

bool __wrap_nopal__aead_public(const uint8_t *own, uint8_t *ret_public)
{
	memcpy(ret_public, own, NOPAL__AEAD_PUBLIC_BYTES);
	return true;
}

bool __wrap_nopal__aead_exchange(const uint8_t *own, const uint8_t *peer, uint8_t *ret_shared)
{
	for (size_t i = 0; i < NOPAL__AEAD_PUBLIC_BYTES; i++)
		ret_shared[i] = own[i] ^ peer[i];
	return true;
}
