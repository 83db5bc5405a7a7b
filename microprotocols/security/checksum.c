/* SPDX-License-Identifier: MIT */
/*
 * checksum -- drop every datagram that was damaged on its way.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section II.A (integrity); Castagnoli
 *            et al., IEEE Trans. Comm. 41(6), 1993 for the polynomial; RFC 1071
 *            for the sum.
 * Differs:   a stage of the datagram and not a handler, so that header and body
 *            are covered and no microprotocol sees a damaged datagram.  Finds
 *            accidents: an attacker who changes a datagram can make its checksum.
 * Wire:      4 bytes behind every datagram, of all before, big endian: CRC-32C,
 *            or two zeros and the one's complement sum.
 *
 *                    finds every                            lets pass
 *   crc32c           flip of up to 3 bits, burst of 32      1 of 2^32 others
 *   ones_complement  flip of 1 bit, burst of 15             1 of 2^16 others; 16-bit
 *                                                           words in another order,
 *                                                           zeros that become ones
 *
 * (3 bits: of datagrams up to 2^31 bits.)  The sum is that of IP, UDP and TCP: for comparisons, and
 * for machines where a CRC is dear.
 */
#include <nopal/microprotocol.h>

#include "crc32c.h"
#include "ones_complement.h"

enum { CHECKSUM_BYTES = 4 };
enum { CHECKSUM_CRC32C, CHECKSUM_ONES_COMPLEMENT }; /* algorithms */

struct checksum_parameters {
	int64_t algorithm;
};

static uint32_t checksum_of(struct nopal_at at, const uint8_t *bytes, size_t length)
{
	const struct checksum_parameters *set = nopal_parameters(at);

	if (set->algorithm == CHECKSUM_ONES_COMPLEMENT)
		return nopal__ones_complement(bytes, length);
	return nopal__crc32c(bytes, length);
}

static void checksum_close(struct nopal_at at, uint8_t *bytes, size_t length)
{
	struct nopal_writer trailer = nopal_writer_over(bytes + length, CHECKSUM_BYTES);

	nopal_write(&trailer, checksum_of(at, bytes, length), CHECKSUM_BYTES);
}

static bool checksum_open(struct nopal_at at, uint8_t *bytes, size_t length)
{
	struct nopal_reader trailer = nopal_reader_over(bytes + length, CHECKSUM_BYTES);

	return nopal_read(&trailer, CHECKSUM_BYTES) == checksum_of(at, bytes, length);
}

const struct nopal_microprotocol nopal_checksum = {
	NOPAL_DESCRIBE(checksum, security, "drop every datagram that was damaged on its way"),
	.provides = NOPAL_ROLES({ "integrity", true }),
	.standard = "integrity",
	.needs = NOPAL_RELATIONS(
		{ "network", "it seals datagrams, which leave from the lowest layer" }),
	.promises = NOPAL_PROMISES({ NOPAL_INTEGRITY, NOPAL_SEAL_STAGE, NOPAL_GIVES,
				     NOPAL_ACCIDENTS, "every datagram has a checksum" }),
	.parameters_size = sizeof(struct checksum_parameters),
	.parameters = NOPAL_PARAMETERS(NOPAL_WORDS(checksum, algorithm, "algorithm", "crc32c",
						   "crc32c|ones_complement",
						   "how the checksum is made", .wire = true)),
	.seal = &(const struct nopal_seal){ .overhead = CHECKSUM_BYTES,
					    .close = checksum_close,
					    .open = checksum_open },
};
