/* SPDX-License-Identifier: MIT */
/*
 * seal_standin -- measures what sealing would cost; protects nothing.
 *
 * Paper:     none: a stand-in until there is a key exchange.
 * Differs:   from every cipher suite: the key is all zeros and so is each nonce.
 *            What leaves is plain text with a tag that anybody can make.
 * Needs:     nothing.
 * Provides:  integrity (exclusive), aead_cost.
 * Excludes:  nothing.
 * Handles:   nothing.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      16 bytes behind every datagram: the tag of AES-128-GCM over it.
 * Shares:    nothing.
 * Parameters: none.
 *
 * Every datagram really goes through AES-128-GCM, by EVP as an application would
 * do it: a nonce is set, all bytes are encrypted, a tag is made.  The cipher text
 * is thrown away, and the receiver encrypts again instead of decrypting, which
 * costs the same, as in GCM both are one XOR with the same key stream.
 */
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>

#include "microprotocol.h"

enum {
	STANDIN_TAG_BYTES = 16,
	STANDIN_KEY_BYTES = 16,
	STANDIN_NONCE_BYTES = 12,
	STANDIN_MOST_BYTES = 64 << 10, /* of a datagram */
};

struct standin {
	EVP_CIPHER_CTX *context;
	uint8_t text[STANDIN_MOST_BYTES]; /* cipher text that nobody reads */
};

/* One a thread: a world is one thread, and a seal has no state of its own. */
static _Thread_local struct standin *standin;

static struct standin *standin_new(void)
{
	static const uint8_t key[STANDIN_KEY_BYTES];
	struct standin *made = calloc(1, sizeof(*made));

	if (made)
		made->context = EVP_CIPHER_CTX_new();
	if (!made || !made->context ||
	    EVP_EncryptInit_ex(made->context, EVP_aes_128_gcm(), NULL, key,
			       NULL) != 1)
		abort(); /* it is a measurement: there is no other way on */
	return made;
}

static void standin_tag(const uint8_t *bytes, size_t length, uint8_t *tag)
{
	static const uint8_t nonce[STANDIN_NONCE_BYTES];
	int written = 0;

	if (!standin)
		standin = standin_new();
	EVP_EncryptInit_ex(standin->context, NULL, NULL, NULL, nonce);
	EVP_EncryptUpdate(standin->context, standin->text, &written, bytes,
			  (int)length);
	EVP_EncryptFinal_ex(standin->context, standin->text + written,
			    &written);
	EVP_CIPHER_CTX_ctrl(standin->context, EVP_CTRL_AEAD_GET_TAG,
			    STANDIN_TAG_BYTES, tag);
}

static void standin_close(struct nopal_session *session,
			  const struct nopal_part *part, uint8_t *bytes,
			  size_t length)
{
	(void)session;
	(void)part;
	standin_tag(bytes, length, bytes + length);
}

static bool standin_open(struct nopal_session *session,
			 const struct nopal_part *part, uint8_t *bytes,
			 size_t length)
{
	uint8_t tag[STANDIN_TAG_BYTES];

	(void)session;
	(void)part;
	standin_tag(bytes, length, tag);
	return memcmp(tag, bytes + length, sizeof(tag)) == 0;
}

const struct nopal_microprotocol nopal_seal_standin = {
	.abi = NOPAL_ABI,
	.name = "seal_standin",
	.family = "security",
	.summary = "measures what sealing would cost; protects nothing",
	.provides =
		(const struct nopal_role[]){
			{ "integrity", true },
			{ "aead_cost", true },
			{ 0 },
		},
	.seal = &(const struct nopal_seal){ .overhead = STANDIN_TAG_BYTES,
					    .close = standin_close,
					    .open = standin_open },
};
