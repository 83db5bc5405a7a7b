/* SPDX-License-Identifier: MIT */
/*
 * test_hash -- SipHash-2-4 against its authors' test vectors.
 *
 * The vectors are those of the reference implementation: key bytes 00..0f, input bytes 00, 01, ...,
 * of length 0..63; the one of length 15 is in appendix A of the paper.
 */
#include "base/hash.h"
#include <nopal/nopal.h>
#include "support/test.h"

enum { INPUT = 300 };

static const uint64_t vector_key[2] = { UINT64_C(0x0706050403020100),
					UINT64_C(0x0f0e0d0c0b0a0908) };

static const uint64_t vectors[] = {
	UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd), UINT64_C(0x0d6c8009d9a94f5a),
	UINT64_C(0x85676696d7fb7e2d), UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
	UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137), UINT64_C(0x93f5f5799a932462),
	UINT64_C(0x9e0082df0ba9e4b0), UINT64_C(0x7a5dbbc594ddb9f3), UINT64_C(0xf4b32f46226bada7),
	UINT64_C(0x751e8fbc860ee5fb), UINT64_C(0x14ea5627c0843d90), UINT64_C(0xf723ca908e7af2ee),
	UINT64_C(0xa129ca6149be45e5),
};

static void fill(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)i;
}

TEST(agrees_with_the_published_vectors)
{
	uint8_t bytes[sizeof(vectors) / sizeof(*vectors)];

	fill(bytes, sizeof(bytes));
	for (size_t length = 0; length < sizeof(bytes); length++)
		assert_true(nopal__siphash(vector_key, bytes, length) == vectors[length]);
}

TEST(pieces_do_not_matter)
{
	uint8_t bytes[INPUT];
	struct nopal_hash whole, pieces;

	fill(bytes, sizeof(bytes));
	nopal_hash_init(&whole);
	nopal_hash_update(&whole, bytes, INPUT);
	uint64_t expected = nopal_hash_final(&whole);
	for (size_t step = 1; step < INPUT; step++) {
		nopal_hash_init(&pieces);
		for (size_t at = 0; at < INPUT; at += step)
			nopal_hash_update(&pieces, bytes + at,
					  at + step < INPUT ? step : INPUT - at);
		assert_true(nopal_hash_final(&pieces) == expected);
	}
}

/* Fingerprints are compared between machines and releases. */
TEST(the_published_key_stays)
{
	const uint64_t key[2] = { UINT64_C(0x61203a6c61706f6e), UINT64_C(0x2e73757463616320) };
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, "segment", 7);
	assert_true(nopal_hash_final(&hash) == nopal__siphash(key, "segment", 7));
}

TEST(every_bit_counts)
{
	uint8_t bytes[24] = { 0 };
	uint64_t clean = nopal__siphash(vector_key, bytes, sizeof(bytes));

	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] = (uint8_t)(1u << bit % 8);
		assert_true(nopal__siphash(vector_key, bytes, sizeof(bytes)) != clean);
		bytes[bit / 8] = 0;
	}
	assert_true(nopal__siphash(vector_key, bytes, 23) != clean);
}
