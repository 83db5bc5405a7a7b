/* SPDX-License-Identifier: MIT */
/* The ciphers of aead give the results of the standards. */
#include <stdio.h>
#include <string.h>

#include "aead_schedule.h"
#include "support/test.h"

enum { BYTES = 160, SKIP = 77 /* of meson */ };

/* Bytes of hexadecimal digits. */
static struct nopal__aead_bytes hex(const char *digits)
{
	static uint8_t room[16][BYTES];
	static unsigned turn;
	uint8_t *bytes = room[turn++ % 16];
	size_t length = 0;

	for (unsigned byte; sscanf(digits, "%2x", &byte) == 1; digits += 2)
		bytes[length++] = (uint8_t)byte;
	return (struct nopal__aead_bytes){ bytes, length };
}

static void is(const uint8_t *bytes, const char *digits)
{
	struct nopal__aead_bytes expected = hex(digits);

	assert_memory_equal(bytes, expected.at, expected.length);
}

/* Seals `text`, in place, and opens it again; with any bit else it does not. */
static void seals(int cipher, const char *key, const char *nonce, const char *clear_digits,
		  struct nopal__aead_bytes text, const char *sealed, const char *tag_digits)
{
	void *to = nopal__aead_key_new(cipher, hex(key).at, true);
	void *from = nopal__aead_key_new(cipher, hex(key).at, false);
	struct nopal__aead_bytes clear = hex(clear_digits);
	uint8_t bytes[BYTES], tag[NOPAL__AEAD_TAG_BYTES];

	assert_int_equal(hex(key).length, nopal__aead_key_bytes(cipher));
	memcpy(bytes, text.at, text.length);
	assert_true(nopal__aead_seal(to, hex(nonce).at, clear, bytes, text.length, tag));
	is(bytes, sealed);
	is(tag, tag_digits);
	assert_true(nopal__aead_open(from, hex(nonce).at, clear, bytes, text.length, tag));
	assert_memory_equal(bytes, text.at, text.length);
	for (unsigned bit = 0; bit < 8 * NOPAL__AEAD_TAG_BYTES; bit++) {
		nopal__aead_seal(to, hex(nonce).at, clear, bytes, text.length, tag);
		tag[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(nopal__aead_open(from, hex(nonce).at, clear, bytes, text.length, tag));
		memcpy(bytes, text.at, text.length);
	}
	nopal__aead_key_free(to);
	nopal__aead_key_free(from);
}

/* RFC 8439, section 2.8.2. */
TEST(test_chacha20_poly1305)
{
	static const char text[] = "Ladies and Gentlemen of the class of '99: If I could offer "
				   "you only one tip for the future, sunscreen would be it.";

	seals(NOPAL__AEAD_CHACHA20_POLY1305,
	      "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
	      "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
	      (struct nopal__aead_bytes){ text, sizeof(text) - 1 },
	      "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116",
	      "1ae10b594f09e26a7e902ecbd0600691");
}

/* McGrew and Viega, The Galois/Counter Mode of Operation, test case 4. */
TEST(test_aes_128_gcm)
{
	seals(NOPAL__AEAD_AES_128_GCM, "feffe9928665731c6d6a8f9467308308",
	      "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	      hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"),
	      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
	      "5bc94fbc3221a5db94fae95ae7121a47");
}

/* RFC 7748, sections 5.2 and 6.1; a peer's key of small order is refused. */
TEST(test_x25519)
{
	static const uint8_t small[NOPAL__AEAD_PUBLIC_BYTES];
	const uint8_t *bob =
		hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb").at;
	const uint8_t *alice =
		hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a").at;
	uint8_t bytes[NOPAL__AEAD_PUBLIC_BYTES];

	assert_true(nopal__aead_public(bob, bytes));
	is(bytes, "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
	assert_true(nopal__aead_exchange(bob, alice, bytes));
	is(bytes, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
	assert_true(nopal__aead_exchange(
		hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4").at,
		hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c").at, bytes));
	is(bytes, "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
	assert_false(nopal__aead_exchange(bob, small, bytes));
}

/* RFC 5869, appendix A.1 and A.2. */
TEST(test_hkdf_sha_256)
{
	uint8_t key[NOPAL__AEAD_HASH_BYTES], bytes[82], count[256];

	assert_true(nopal__aead_extract(hex("000102030405060708090a0b0c"),
					hex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"), key));
	is(key, "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
	assert_true(nopal__aead_expand(key, hex("f0f1f2f3f4f5f6f7f8f9"), bytes, 42));
	is(bytes,
	   "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
	for (unsigned i = 0; i < sizeof(count); i++)
		count[i] = (uint8_t)i;
	assert_true(nopal__aead_extract((struct nopal__aead_bytes){ count + 0x60, 80 },
					(struct nopal__aead_bytes){ count, 80 }, key));
	is(key, "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244");
	assert_true(
		nopal__aead_expand(key, (struct nopal__aead_bytes){ count + 0xb0, 80 }, bytes, 82));
	is(bytes,
	   "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
}

/* RFC 4231, test case 2; a hash of pieces is SHA-256 of 8 bytes of length and the bytes, for
 * each. */
TEST(test_hmac_and_hash)
{
	const struct nopal__aead_bytes pieces[] = { { "ab", 2 }, { "c", 1 } };
	const struct nopal__aead_bytes others[] = { { "a", 1 }, { "bc", 2 } };
	uint8_t hash[NOPAL__AEAD_HASH_BYTES], other[NOPAL__AEAD_HASH_BYTES];

	assert_true(nopal__aead_mac(hex("4a656665"),
				    hex("7768617420646f2079612077616e7420666f72206e6f7468696e673f"),
				    hash));
	is(hash, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	assert_true(nopal__aead_hash(pieces, 2, hash));
	is(hash, "601d5476e2ccfe2c87a2bba7a322659734a05749d5b5aa781f513e4912db0d5f");
	assert_true(nopal__aead_hash(others, 2, other));
	assert_memory_not_equal(hash, other, sizeof(hash));
}

TEST(test_what_is_the_same)
{
	uint8_t secret[] = { 1, 2, 3 };

	assert_true(nopal__aead_same("abc", "abc", 3));
	assert_false(nopal__aead_same("abc", "abd", 3));
	nopal__aead_forget(secret, sizeof(secret));
	assert_int_equal(secret[0] | secret[1] | secret[2], 0);
}

/* ------------------------------------------------------------ key schedule */

/* Every input counts, and every output is another. */
TEST(test_all_that_is_said_makes_the_secrets)
{
	uint8_t inputs[3][NOPAL__AEAD_HASH_BYTES] = { { 1 }, { 2 }, { 3 } };
	uint8_t opener[4][NOPAL__AEAD_HASH_BYTES];
	uint8_t listener[4][NOPAL__AEAD_HASH_BYTES];

	for (int changed = 0; changed < 4; changed++) {
		if (changed < 3)
			inputs[changed][31] ^= 1;
		assert_true(nopal__aead_agree(inputs[0], inputs[1], inputs[2], opener[changed],
					      listener[changed]));
		if (changed < 3)
			inputs[changed][31] ^= 1;
		assert_memory_not_equal(opener[changed], listener[changed], 32);
		for (int i = 0; i < changed; i++) {
			assert_memory_not_equal(opener[changed], opener[i], 32);
			assert_memory_not_equal(listener[changed], listener[i], 32);
		}
	}
}

TEST(test_a_phase_leads_to_the_next_and_not_back)
{
	struct nopal__aead_phase phase = { .secret = { 7 } }, next, again;

	assert_true(nopal__aead_phase_begin(&phase, NOPAL__AEAD_AES_128_GCM, true));
	assert_non_null(phase.key);
	assert_true(nopal__aead_phase_next(&phase, &next));
	assert_null(next.key);
	assert_true(nopal__aead_phase_begin(&next, NOPAL__AEAD_AES_128_GCM, true));
	assert_memory_not_equal(phase.secret, next.secret, sizeof(next.secret));
	assert_memory_not_equal(phase.nonce, next.nonce, sizeof(next.nonce));
	nopal__aead_phase_end(&next);
	assert_null(next.key);
	assert_true(nopal__aead_phase_next(&phase, &again));
	assert_memory_equal(again.secret, next.secret, sizeof(next.secret));
	nopal__aead_phase_forget(&phase);
	for (size_t i = 0; i < sizeof(phase); i++)
		assert_int_equal(((const uint8_t *)&phase)[i], 0);
}

int main(void)
{
	if (!nopal__aead_found()) {
		puts("built without libcrypto");
		return SKIP;
	}
	return tests_run();
}
