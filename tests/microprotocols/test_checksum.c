/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "md5.h"
#include "session/endpoint_sessions.h"
#include "support/rig.h"
#include "support/test.h"

enum { TRAILER = 4, BODY = 1400, DATAGRAM = 2048 };

static const char SEALED[] = "transport_driver {}\nfixed_size {}\nchecksum {}\n";

extern const struct nopal_microprotocol nopal_checksum;

/* One part for each algorithm, by its place among the choices. */
static const int64_t algorithms[] = { 0, 1, 2 };
static const struct nopal_part crc_part = { .microprotocol = &nopal_checksum,
					    .parameters = &algorithms[0] };
static const struct nopal_at crc = { .part = &crc_part };
static const struct nopal_part sum_part = { .microprotocol = &nopal_checksum,
					    .parameters = &algorithms[1] };
static const struct nopal_at sum = { .part = &sum_part };
static const struct nopal_part md5_part = { .microprotocol = &nopal_checksum,
					    .parameters = &algorithms[2] };
static const struct nopal_at md5 = { .part = &md5_part };

TEST(test_the_trailer_is_crc32c_big_endian)
{
	static const uint8_t expected[TRAILER] = { 0xe3, 0x06, 0x92, 0x83 };
	uint8_t bytes[9 + TRAILER] = "123456789";
	const struct nopal_seal *seal = nopal_checksum.seal;

	assert_int_equal(seal->trailer(&algorithms[0]), TRAILER);
	seal->close(crc, bytes, 9);
	assert_memory_equal(bytes + 9, expected, TRAILER);
	assert_true(seal->open(crc, bytes, 9));
}

/* Every flip of one bit, and of every two that are near each other. */
TEST(test_flips_are_detected)
{
	static uint8_t bytes[BODY + TRAILER];
	const struct nopal_seal *seal = nopal_checksum.seal;
	const size_t bits = sizeof(bytes) * 8;

	for (size_t i = 0; i < BODY; i++)
		bytes[i] = (uint8_t)(i * 5);
	seal->close(crc, bytes, BODY);
	for (size_t bit = 0; bit < bits; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(seal->open(crc, bytes, BODY));
		if (bit + 31 < bits) {
			size_t other = bit + 1 + bit % 31;

			bytes[other / 8] ^= (uint8_t)(1u << other % 8);
			assert_false(seal->open(crc, bytes, BODY));
			bytes[other / 8] ^= (uint8_t)(1u << other % 8);
		}
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_true(seal->open(crc, bytes, BODY));
}

/* The example of RFC 1071, section 3: its sum is ddf2. */
TEST(test_the_sum_is_that_of_rfc_1071)
{
	static const uint8_t words[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
	static const uint8_t expected[TRAILER] = { 0, 0, 0x22, 0x0d };
	static const uint8_t odd[TRAILER] = { 0, 0, 0x23, 0x04 };
	uint8_t bytes[sizeof(words) + TRAILER];

	memcpy(bytes, words, sizeof(words));
	nopal_checksum.seal->close(sum, bytes, sizeof(words));
	assert_memory_equal(bytes + sizeof(words), expected, TRAILER);
	memcpy(bytes, words, sizeof(words));
	nopal_checksum.seal->close(sum, bytes, sizeof(words) - 1);
	assert_memory_equal(bytes + sizeof(words) - 1, odd, TRAILER);
}

/* Promises of its head comment: one bit, and bursts of 15; words that change places pass. */
TEST(test_what_the_sum_finds_and_what_not)
{
	static uint8_t bytes[BODY + TRAILER];
	const struct nopal_seal *seal = nopal_checksum.seal;

	for (size_t i = 0; i < BODY; i++)
		bytes[i] = (uint8_t)(i * i + 3);
	seal->close(sum, bytes, BODY);
	assert_true(seal->open(sum, bytes, BODY));
	for (size_t bit = 0; bit + 15 < sizeof(bytes) * 8; bit++)
		for (size_t length = 1; length <= 15; length += 7) {
			for (size_t i = 0; i < length; i++)
				bytes[(bit + i) / 8] ^= (uint8_t)(0x80u >> (bit + i) % 8);
			assert_false(seal->open(sum, bytes, BODY));
			for (size_t i = 0; i < length; i++)
				bytes[(bit + i) / 8] ^= (uint8_t)(0x80u >> (bit + i) % 8);
		}
	memcpy(bytes, (const uint8_t[]){ bytes[2], bytes[3], bytes[0], bytes[1] }, 4);
	assert_true(seal->open(sum, bytes, BODY));
	assert_false(seal->open(crc, bytes, BODY));
}

/* RFC 1321, appendix A.5. */
TEST(test_md5_is_that_of_rfc_1321)
{
	static const struct {
		const char *text;
		uint8_t digest[NOPAL__MD5_BYTES];
	} cases[] = {
		{ "",
		  { 0xd4, 0x1d, 0x8c, 0xd9, 0x8f, 0x00, 0xb2, 0x04, 0xe9, 0x80, 0x09, 0x98, 0xec,
		    0xf8, 0x42, 0x7e } },
		{ "message digest",
		  { 0xf9, 0x6b, 0x69, 0x7d, 0x7c, 0xb7, 0x93, 0x8d, 0x52, 0x5a, 0x2f, 0x31, 0xaa,
		    0xf1, 0x61, 0xd0 } },
	};
	const struct nopal_seal *seal = nopal_checksum.seal;
	uint8_t bytes[RIG_TEXT];

	if (!nopal__md5_found())
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t length = strlen(cases[i].text);

		memcpy(bytes, cases[i].text, length);
		seal->close(md5, bytes, length);
		assert_memory_equal(bytes + length, cases[i].digest, NOPAL__MD5_BYTES);
		assert_true(seal->open(md5, bytes, length));
	}
}

TEST(test_md5_detects_each_flip_and_changed_order)
{
	static uint8_t bytes[BODY + NOPAL__MD5_BYTES];
	const struct nopal_seal *seal = nopal_checksum.seal;

	if (!nopal__md5_found())
		skip();
	for (size_t i = 0; i < BODY; i++)
		bytes[i] = (uint8_t)(i * i + 3);
	seal->close(md5, bytes, BODY);
	for (size_t bit = 0; bit < sizeof(bytes) * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_false(seal->open(md5, bytes, BODY));
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	memcpy(bytes, (const uint8_t[]){ bytes[2], bytes[3], bytes[0], bytes[1] }, 4);
	assert_false(seal->open(md5, bytes, BODY));
}

static struct {
	uint8_t bytes[DATAGRAM];
	size_t length;
	struct nopal_address from;
} seen;

static void note_datagram(void *user, int64_t now_ns, const struct nopal_address *from,
			  const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	const struct nopal_endpoint *acceptor = user;
	struct nopal_address local;

	(void)now_ns;
	nopal_endpoint_local(acceptor, &local);
	if (!nopal_address_equal(to, &local))
		return;
	memcpy(seen.bytes, bytes, length);
	seen.length = length;
	seen.from = *from;
}

/* A datagram with any bit flipped is as if it had not come. */
TEST(test_a_damaged_datagram_is_dropped)
{
	struct rig rig;

	rig_open(&rig, SEALED, NULL);
	rig_send(&rig, "first");
	rig_run(&rig, NOPAL_SECOND);
	nopal_sim_tap(rig.world, note_datagram, rig.acceptor.endpoint);
	rig_send(&rig, "second");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	for (size_t bit = 0; bit < seen.length * 8; bit++) {
		seen.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		nopal_sim_inject(rig.world, rig.acceptor.endpoint, &seen.from, seen.bytes,
				 seen.length);
		rig_run(&rig, NOPAL_MILLISECOND);
		seen.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(rig.acceptor.delivered, 2);
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &seen.from, seen.bytes, seen.length);
	rig_run(&rig, NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	nopal_sim_tap(rig.world, NULL, NULL);
	rig_close(&rig);
}

TEST(test_the_link_corrupts_and_nothing_passes)
{
	const struct rig_options options = { .link = "delay 5ms corrupt 30%" };
	struct rig rig;

	rig_open(&rig, SEALED, &options);
	for (int i = 0; i < 300; i++)
		rig_send(&rig, "the same text each time");
	rig_run(&rig, NOPAL_SECOND);
	assert_in_range(rig.acceptor.delivered, 100, 280);
	for (uint32_t i = 0; i < rig.acceptor.delivered; i++)
		assert_string_equal(rig.acceptor.text[i], "the same text each time");
	rig_close(&rig);
}

TEST(test_peers_must_sum_alike)
{
	struct nopal_plan *one = rig_plan(SEALED);
	struct nopal_plan *other = rig_plan("transport_driver {}\nfixed_size {}\n"
					    "checksum { algorithm = ones_complement }\n");

	assert_true(nopal_plan_info(one)->fingerprint != nopal_plan_info(other)->fingerprint);
	nopal_plan_unref(one);
	nopal_plan_unref(other);
}

TEST(test_it_costs_four_bytes)
{
	struct nopal_plan *without = rig_plan("transport_driver {}\nfixed_size {}\n");
	struct nopal_plan *with = rig_plan(SEALED);

	assert_int_equal(nopal_plan_info(without)->body_bytes - nopal_plan_info(with)->body_bytes,
			 TRAILER);
	assert_true(nopal_plan_provides(with, "integrity"));
	nopal_plan_unref(without);
	nopal_plan_unref(with);
}

/* MD5 costs 16 bytes of each body; without libcrypto the config is refused with a fix. */
TEST(test_md5_costs_sixteen_bytes_or_is_refused)
{
	static const char text[] = "transport_driver {}\nfixed_size {}\n"
				   "checksum { algorithm = md5 }\n";
	struct nopal_plan *without = rig_plan("transport_driver {}\nfixed_size {}\n");
	struct nopal_problems problems = { 0 };
	struct nopal_plan *with = nopal_plan_parse(text, "md5", NULL, &problems);

	if (nopal__md5_found()) {
		assert_non_null(with);
		assert_int_equal(nopal_plan_info(without)->body_bytes -
					 nopal_plan_info(with)->body_bytes,
				 NOPAL__MD5_BYTES);
	} else {
		assert_null(with);
		assert_int_equal(problems.count, 1);
		assert_non_null(strstr(problems.entries[0].fix, "libcrypto"));
	}
	nopal_problems_fini(&problems);
	nopal_plan_unref(without);
	nopal_plan_unref(with);
}
