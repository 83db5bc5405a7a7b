/* SPDX-License-Identifier: MIT */
/* sum32 -- drop every datagram whose two sums, of bytes and of sums, are wrong */
#include <nopal/microprotocol.h>

enum { SUM32_BYTES = 4 };

/* Task 1. The two sums of bytes[0] to bytes[length - 1], as one number. */
static uint32_t sum32_of(const uint8_t *bytes, size_t length)
{
	(void)bytes, (void)length;
	return 0;
}

/* Task 2. A datagram leaves: write the trailer, the SUM32_BYTES behind bytes[length - 1].
 * A writer over them is nopal_writer_over(bytes + length, SUM32_BYTES). */
static void sum32_close(struct nopal_at at, uint8_t *bytes, size_t length)
{
	(void)at, (void)bytes, (void)length;
	(void)sum32_of;
}

/* Task 3. A datagram arrived: false drops it, before any handler sees it.  Here, too, the trailer
 * lies behind bytes[length - 1]. */
static bool sum32_open(struct nopal_at at, uint8_t *bytes, size_t length)
{
	(void)at, (void)bytes, (void)length;
	return true;
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
