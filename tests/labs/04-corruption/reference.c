/* SPDX-License-Identifier: MIT */
/* sum32 -- drop every datagram whose two sums, of bytes and of sums, are wrong */
#include <nopal/microprotocol.h>

enum { SUM32_BYTES = 4, SUM32_PRIME = 65521 };

/* Adler's sums (RFC 1950), but for the start of the first one. */
static uint32_t sum32_of(const uint8_t *bytes, size_t length)
{
	uint32_t first = (uint32_t)(length % SUM32_PRIME), second = 0;

	for (size_t i = 0; i < length; i++) {
		first = (first + bytes[i]) % SUM32_PRIME;
		second = (second + first) % SUM32_PRIME;
	}
	return second << 16 | first;
}

static void sum32_close(struct nopal_at at, uint8_t *bytes, size_t length)
{
	struct nopal_writer trailer = nopal_writer_over(bytes + length, SUM32_BYTES);

	(void)at;
	nopal_write(&trailer, sum32_of(bytes, length), SUM32_BYTES);
}

static bool sum32_open(struct nopal_at at, uint8_t *bytes, size_t length)
{
	struct nopal_reader trailer = nopal_reader_over(bytes + length, SUM32_BYTES);

	(void)at;
	return nopal_read(&trailer, SUM32_BYTES) == sum32_of(bytes, length);
}

const struct nopal_microprotocol nopal_sum32 = {
	NOPAL_DESCRIBE(sum32, labs,
		       "drop every datagram whose two sums, of bytes and of sums, are wrong"),
	.provides = NOPAL_ROLES({ "integrity", true }),
	.promises = NOPAL_PROMISES({ NOPAL_INTEGRITY, NOPAL_SEAL_STAGE, NOPAL_GIVES,
				     NOPAL_ACCIDENTS, "every datagram has two sums" }),
	.seal = &(const struct nopal_seal){ .overhead = SUM32_BYTES,
					    .close = sum32_close,
					    .open = sum32_open },
};
