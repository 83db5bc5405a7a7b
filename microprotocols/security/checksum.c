/* SPDX-License-Identifier: MIT */
/*
 * checksum -- drop every datagram that was damaged on its way.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section II.A (integrity); Castagnoli
 *            et al., IEEE Trans. Comm. 41(6), 1993 for the polynomial.
 * Differs:   a stage of the datagram and not a handler, so that header and body
 *            are covered and no microprotocol sees what is damaged.  Finds
 *            accidents: who wants to change a datagram can make its checksum.
 * Needs:     nothing.
 * Provides:  integrity (exclusive).
 * Excludes:  nothing.
 * Handles:   nothing.
 * Raises:    nothing.
 * Holds:     nothing.
 * Wire:      4 bytes behind every datagram: CRC-32C of all before, big endian.
 * Shares:    nothing.
 * Parameters: algorithm (default crc32c): how the checksum is made.
 */
#include "microprotocol.h"

#include "crc32c.h"

enum { CHECKSUM_BYTES = 4 };

struct checksum_parameters {
	int64_t algorithm;
};

static void checksum_close(struct nopal_session *session,
			   const struct nopal_part *part, uint8_t *bytes,
			   size_t length)
{
	struct nopal_writer trailer = { .start = bytes + length,
					.at = bytes + length,
					.end = bytes + length +
					       CHECKSUM_BYTES };

	(void)session;
	(void)part;
	nopal_write(&trailer, nopal__crc32c(bytes, length), CHECKSUM_BYTES);
}

static bool checksum_open(struct nopal_session *session,
			  const struct nopal_part *part, uint8_t *bytes,
			  size_t length)
{
	struct nopal_reader trailer = {
		.at = bytes + length, .end = bytes + length + CHECKSUM_BYTES
	};

	(void)session;
	(void)part;
	return nopal_read(&trailer, CHECKSUM_BYTES) ==
	       nopal__crc32c(bytes, length);
}

static const struct nopal_parameter checksum_table[] = {
	{ .name = "algorithm",
	  .unit = NOPAL_WORD,
	  .offset = offsetof(struct checksum_parameters, algorithm),
	  .initial = "crc32c",
	  .choices = "crc32c",
	  .wire = true,
	  .doc = "how the checksum is made" },
	{ 0 },
};

const struct nopal_microprotocol nopal_checksum = {
	.abi = NOPAL_ABI,
	.name = "checksum",
	.family = "security",
	.summary = "drop every datagram that was damaged on its way",
	.provides =
		(const struct nopal_role[]){
			{ "integrity", true },
			{ 0 },
		},
	.parameters_size = sizeof(struct checksum_parameters),
	.parameters = checksum_table,
	.seal = &(const struct nopal_seal){ .overhead = CHECKSUM_BYTES,
					    .close = checksum_close,
					    .open = checksum_open },
};
