/* SPDX-License-Identifier: MIT */
#include "forge.h"

#include <string.h>

#include "aead_crypto.h"
#include "base/bytes.h"
#include "wire/wire.h"

enum {
	/* handshake.c: behind first byte and id */
	FINGERPRINT_AT = 1 + NOPAL_ID_BYTES,
	CHECK_AT = FINGERPRINT_AT + NOPAL_FINGERPRINT_BYTES,
	REPLY_CHECK_AT = FINGERPRINT_AT,
	REPLY_CHECK_BYTES = 2,
	/* one_to_many.c */
	SUM_AT = 16,
	SUM_BYTES = 4,
};

static uint64_t check_of(uint64_t fingerprint, const uint8_t *bytes, const uint8_t *from,
			 size_t length)
{
	const uint64_t key[2] = { fingerprint, nopal__get(bytes + 1, NOPAL_ID_BYTES) };

	return nopal__siphash(key, from, length);
}

static void repair_opening(uint8_t *bytes, size_t length)
{
	const size_t head = CHECK_AT + NOPAL_CHECK_BYTES;
	uint64_t fingerprint;

	if (length < head)
		return;
	fingerprint = nopal__get(bytes + FINGERPRINT_AT, NOPAL_FINGERPRINT_BYTES);
	nopal__put(bytes + CHECK_AT, check_of(fingerprint, bytes, bytes + head, length - head),
		   NOPAL_CHECK_BYTES);
}

static void repair_reply(const struct nopal_plan *plan, uint8_t *bytes, size_t length)
{
	const size_t head = REPLY_CHECK_AT + REPLY_CHECK_BYTES;

	if (length < head)
		return;
	nopal__put(bytes + REPLY_CHECK_AT,
		   check_of(plan->info.fingerprint, bytes, bytes + head, length - head) &
			   UINT16_MAX,
		   REPLY_CHECK_BYTES);
}

/* Trailers of checksum know no session, and that of aead is the test key's. */
static void repair_trailer(const struct nopal_plan *plan, uint8_t *bytes, size_t length)
{
	const struct nopal_part *seal = plan->seal;

	if (!seal || length < plan->trailer_bytes)
		return;
	if (seal->microprotocol->extension)
		memset(bytes + length - NOPAL__AEAD_TAG_BYTES, FORGE_TAG, NOPAL__AEAD_TAG_BYTES);
	else
		seal->microprotocol->seal->close((struct nopal_at){ .part = seal }, bytes,
						 length - plan->trailer_bytes);
}

/* The one's complement of the sum of all, in words of four bytes. */
static void repair_sum(uint8_t *bytes, size_t length)
{
	uint64_t sum = 0;

	if (length < SUM_AT + SUM_BYTES)
		return;
	memset(bytes + SUM_AT, 0, SUM_BYTES);
	for (size_t i = 0; i < length; i++)
		sum += (uint64_t)bytes[i] << (24 - i % 4 * 8);
	while (sum >> 32)
		sum = (sum & UINT32_MAX) + (sum >> 32);
	nopal__put(bytes + SUM_AT, ~sum & UINT32_MAX, SUM_BYTES);
}

void forge_repair(const struct nopal_plan *plan, uint8_t *bytes, size_t length)
{
	uint8_t kind;

	if (plan->demux == NOPAL_DEMUX_INTEROP) {
		if (plan->admission)
			repair_sum(bytes, length);
	} else if (!length || !nopal__first_byte_parse(bytes[0], &kind)) {
		return;
	} else if (kind == NOPAL_KIND_CONNECT || kind == NOPAL_KIND_RENDEZVOUS) {
		repair_opening(bytes, length);
	} else if (kind == NOPAL_KIND_REPLY) {
		repair_reply(plan, bytes, length);
	} else {
		repair_trailer(plan, bytes, length);
	}
}
