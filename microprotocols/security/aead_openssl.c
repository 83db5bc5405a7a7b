/* SPDX-License-Identifier: MIT */
/*
 * aead_openssl.c -- the cryptography of aead by libcrypto (OpenSSL 3.0 or later).
 */
#include <limits.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "aead_crypto.h"

enum { AEAD_AES_128_KEY_BYTES = 16, AEAD_LENGTH_BYTES = 8 };

bool nopal__aead_found(void)
{
	return true;
}

/* libcrypto makes its context once; where there was no memory for it, it never has one, and what
 * looks for algorithms there dies of that.  Asked where a session, or a listener, begins. */
static bool aead_is_there(void)
{
	return OPENSSL_init_crypto(0, NULL) == 1 && OSSL_LIB_CTX_get0_global_default() != NULL;
}

size_t nopal__aead_key_bytes(int cipher)
{
	return cipher == NOPAL__AEAD_AES_128_GCM ? AEAD_AES_128_KEY_BYTES
						 : NOPAL__AEAD_KEY_MAX_BYTES;
}

/* --------------------------------------------------------------- datagrams */

void *nopal__aead_key_new(int cipher, const uint8_t *key, bool seals)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	const EVP_CIPHER *which =
		cipher == NOPAL__AEAD_AES_128_GCM ? EVP_aes_128_gcm() : EVP_chacha20_poly1305();

	if (context && EVP_CipherInit_ex(context, which, NULL, key, NULL, seals) == 1)
		return context;
	EVP_CIPHER_CTX_free(context);
	return NULL;
}

void nopal__aead_key_free(void *key)
{
	EVP_CIPHER_CTX_free(key); /* which erases it */
}

/* All but the tag. */
static bool aead_pass(EVP_CIPHER_CTX *context, const uint8_t *nonce, struct nopal__aead_bytes clear,
		      uint8_t *bytes, size_t length)
{
	int done = 0;

	return length <= INT_MAX && EVP_CipherInit_ex(context, NULL, NULL, NULL, nonce, -1) == 1 &&
	       EVP_CipherUpdate(context, NULL, &done, clear.at, (int)clear.length) == 1 &&
	       EVP_CipherUpdate(context, bytes, &done, bytes, (int)length) == 1;
}

bool nopal__aead_seal(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
		      uint8_t *bytes, size_t length, uint8_t *tag)
{
	int done = 0;

	return aead_pass(key, nonce, clear, bytes, length) &&
	       EVP_CipherFinal_ex(key, bytes + length, &done) == 1 &&
	       EVP_CIPHER_CTX_ctrl(key, EVP_CTRL_AEAD_GET_TAG, NOPAL__AEAD_TAG_BYTES, tag) == 1;
}

bool nopal__aead_open(void *key, const uint8_t *nonce, struct nopal__aead_bytes clear,
		      uint8_t *bytes, size_t length, const uint8_t *tag)
{
	int done = 0;

	return aead_pass(key, nonce, clear, bytes, length) &&
	       EVP_CIPHER_CTX_ctrl(key, EVP_CTRL_AEAD_SET_TAG, NOPAL__AEAD_TAG_BYTES,
				   (void *)(uintptr_t)tag) == 1 &&
	       EVP_CipherFinal_ex(key, bytes + length, &done) == 1;
}

/* ---------------------------------------------------------------- exchange */

bool nopal__aead_public(const uint8_t *own, uint8_t *ret_public)
{
	size_t length = NOPAL__AEAD_PUBLIC_BYTES;
	EVP_PKEY *key = aead_is_there()
				? EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, own, length)
				: NULL;
	bool good = key && EVP_PKEY_get_raw_public_key(key, ret_public, &length) == 1;

	EVP_PKEY_free(key);
	return good;
}

/* A public key of small order gives zeros, which derivation refuses. */
bool nopal__aead_exchange(const uint8_t *own, const uint8_t *peer, uint8_t *ret_shared)
{
	size_t length = NOPAL__AEAD_PUBLIC_BYTES;
	EVP_PKEY *ours = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, own, length);
	EVP_PKEY *theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, peer, length);
	EVP_PKEY_CTX *context = ours ? EVP_PKEY_CTX_new(ours, NULL) : NULL;
	bool good = context && theirs && EVP_PKEY_derive_init(context) == 1 &&
		    EVP_PKEY_derive_set_peer(context, theirs) == 1 &&
		    EVP_PKEY_derive(context, ret_shared, &length) == 1 &&
		    length == NOPAL__AEAD_PUBLIC_BYTES;

	EVP_PKEY_CTX_free(context);
	EVP_PKEY_free(theirs);
	EVP_PKEY_free(ours);
	return good;
}

/* ------------------------------------------------------------ key schedule */

bool nopal__aead_hash(const struct nopal__aead_bytes *pieces, size_t count, uint8_t *ret_hash)
{
	EVP_MD_CTX *context = aead_is_there() ? EVP_MD_CTX_new() : NULL;
	bool good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	for (size_t i = 0; good && i < count; i++) {
		uint8_t length[AEAD_LENGTH_BYTES];

		for (unsigned at = 0; at < AEAD_LENGTH_BYTES; at++)
			length[at] = (uint8_t)((uint64_t)pieces[i].length >>
					       (CHAR_BIT * (AEAD_LENGTH_BYTES - 1 - at)));
		good = EVP_DigestUpdate(context, length, sizeof(length)) == 1 &&
		       EVP_DigestUpdate(context, pieces[i].at, pieces[i].length) == 1;
	}
	good = good && EVP_DigestFinal_ex(context, ret_hash, NULL) == 1;
	EVP_MD_CTX_free(context);
	return good;
}

bool nopal__aead_mac(struct nopal__aead_bytes key, struct nopal__aead_bytes bytes, uint8_t *ret_mac)
{
	return aead_is_there() && HMAC(EVP_sha256(), key.at, (int)key.length, bytes.at,
				       bytes.length, ret_mac, NULL) != NULL;
}

/* `second` is the salt of an extraction, or what an expansion is for. */
static bool aead_hkdf(int mode, struct nopal__aead_bytes key, const char *second_name,
		      struct nopal__aead_bytes second, uint8_t *ret_bytes, size_t length)
{
	char digest[] = "SHA256";
	OSSL_PARAM parameters[] = {
		OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)key.at,
						  key.length),
		OSSL_PARAM_construct_octet_string(second_name, (void *)(uintptr_t)second.at,
						  second.length),
		OSSL_PARAM_construct_end(),
	};
	EVP_KDF *hkdf = aead_is_there() ? EVP_KDF_fetch(NULL, "HKDF", NULL) : NULL;
	EVP_KDF_CTX *context = hkdf ? EVP_KDF_CTX_new(hkdf) : NULL;
	bool good = context && EVP_KDF_derive(context, ret_bytes, length, parameters) == 1;

	EVP_KDF_CTX_free(context);
	EVP_KDF_free(hkdf);
	return good;
}

bool nopal__aead_extract(struct nopal__aead_bytes salt, struct nopal__aead_bytes secret,
			 uint8_t *ret_key)
{
	return aead_hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, secret, OSSL_KDF_PARAM_SALT, salt, ret_key,
			 NOPAL__AEAD_HASH_BYTES);
}

bool nopal__aead_expand(const uint8_t *key, struct nopal__aead_bytes info, uint8_t *ret_bytes,
			size_t length)
{
	const struct nopal__aead_bytes whole = { key, NOPAL__AEAD_HASH_BYTES };

	return aead_hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, whole, OSSL_KDF_PARAM_INFO, info, ret_bytes,
			 length);
}

/* ----------------------------------------------------------------- secrets */

bool nopal__aead_same(const void *a, const void *b, size_t length)
{
	return CRYPTO_memcmp(a, b, length) == 0;
}

void nopal__aead_forget(void *secret, size_t length)
{
	OPENSSL_cleanse(secret, length);
}
