/* SPDX-License-Identifier: MIT */
/*
 * checksum -- drop every datagram that was damaged on its way.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section II.A (integrity); Castagnoli
 *            et al., IEEE Trans. Comm. 41(6), 1993 for the polynomial; RFC 1071
 *            for the sum; RFC 1321 for MD5, which MADP has (section III.A).
 * Differs:   a stage of the datagram and not a handler, so that header and body
 *            are covered and no microprotocol sees a damaged datagram.  Finds
 *            accidents: an attacker who changes a datagram can make its checksum.
 * Wire:      behind every datagram, of all before: 4 bytes, big endian, CRC-32C, or
 *            two zeros and the one's complement sum; or the 16 bytes of MD5.
 *
 *                    finds every                            lets pass
 *   crc32c           flip of up to 3 bits, burst of 32      1 of 2^32 others
 *   ones_complement  flip of 1 bit, burst of 15             1 of 2^16 others; 16-bit
 *                                                           words in another order,
 *                                                           zeros that become ones
 *   md5                                                    1 of 2^128 of any
 *
 * (3 bits: of datagrams up to 2^31 bits.)  The sum is that of IP, UDP and TCP: for comparisons, and
 * for machines where a CRC is dear.  MD5 is for comparisons with MADP: it costs many times a CRC,
 * promises no more (whoever changes a datagram makes its digest, too), and needs libcrypto.
 */
#include <string.h>

#include <nopal/microprotocol.h>

#include "crc32c.h"
#include "md5.h"
#include "ones_complement.h"

enum { CHECKSUM_BYTES = 4 };
enum { CHECKSUM_CRC32C, CHECKSUM_ONES_COMPLEMENT, CHECKSUM_MD5 }; /* algorithms */

struct checksum_parameters {
	int64_t algorithm;
};

static bool checksum_is_md5(const void *parameters)
{
	const struct checksum_parameters *set = parameters;

	return set->algorithm == CHECKSUM_MD5;
}

static uint32_t checksum_trailer(const void *parameters)
{
	return checksum_is_md5(parameters) ? NOPAL__MD5_BYTES : CHECKSUM_BYTES;
}

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

	if (checksum_is_md5(nopal_parameters(at)))
		nopal__md5(bytes, length, bytes + length);
	else
		nopal_write(&trailer, checksum_of(at, bytes, length), CHECKSUM_BYTES);
}

static bool checksum_open(struct nopal_at at, uint8_t *bytes, size_t length)
{
	struct nopal_reader trailer = nopal_reader_over(bytes + length, CHECKSUM_BYTES);
	uint8_t digest[NOPAL__MD5_BYTES];

	if (!checksum_is_md5(nopal_parameters(at)))
		return nopal_read(&trailer, CHECKSUM_BYTES) == checksum_of(at, bytes, length);
	nopal__md5(bytes, length, digest);
	return memcmp(digest, bytes + length, sizeof(digest)) == 0;
}

static void checksum_validate(const void *parameters, struct nopal_problems *problems)
{
	if (checksum_is_md5(parameters) && !nopal__md5_found())
		nopal_problem(problems, "algorithm", "this build has no MD5",
			      "install libcrypto (Debian: libssl-dev) and build again, or take "
			      "crc32c, which finds the same accidents");
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
						   "crc32c|ones_complement|md5",
						   "how the checksum is made", .wire = true)),
	.validate = checksum_validate,
	.seal = &(const struct nopal_seal){ .overhead = NOPAL__MD5_BYTES,
					    .close = checksum_close,
					    .open = checksum_open,
					    .trailer = checksum_trailer },
};
