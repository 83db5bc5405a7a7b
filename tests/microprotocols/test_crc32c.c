/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "crc32c.h"
#include "support/test.h"

/* The alternative of a build without ISA-L, under a name of its own. */
#define nopal__crc32c crc32c_by_table
uint32_t crc32c_by_table(const uint8_t *bytes, size_t length);
#include "crc32c_table.c"
#undef nopal__crc32c

enum { LONGEST = 2048 };

/* RFC 3720, appendix B.4, and the check value of the CRC catalogues. */
TEST(test_published_values)
{
	uint8_t bytes[32];
	unsigned i;

	assert_int_equal(nopal__crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(nopal__crc32c(bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(nopal__crc32c(bytes, sizeof(bytes)), 0x62a8ab43);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(nopal__crc32c(bytes, sizeof(bytes)), 0x46dd794e);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(sizeof(bytes) - 1 - i);
	assert_int_equal(nopal__crc32c(bytes, sizeof(bytes)), 0x113fdb5c);
	assert_int_equal(nopal__crc32c(bytes, 0), 0);
}

/* Bit by bit from the polynomial: slow, and sure. */
static uint32_t by_definition(const uint8_t *bytes, size_t length)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

TEST(test_all_ways_agree)
{
	uint8_t bytes[LONGEST + 8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i * 31 + i / 7);
	for (size_t length = 0; length <= LONGEST; length += 1 + length / 16) {
		const uint8_t *at = bytes + length % 8; /* every alignment */
		uint32_t expected = by_definition(at, length);

		assert_int_equal(nopal__crc32c(at, length), expected);
		assert_int_equal(crc32c_by_table(at, length), expected);
	}
}
