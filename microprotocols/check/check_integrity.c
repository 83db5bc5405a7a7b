/* SPDX-License-Identifier: MIT */
/*
 * check_integrity -- watch that segments arrive as they were sent.
 *
 * Paper:     Hayden, The Ensemble System, 1998: checkers are layers too.
 * Differs:   a hash of its own (FNV-1a, 32 bits) travels with each data segment,
 *            past and independent of checksums and erasure codes: a damaged segment
 *            that they let through breaks the session.
 */
#include <nopal/microprotocol.h>

/* FNV-1a, 32 bits (Fowler, Noll, Vo): offset basis and prime. */
#define CHECK_INTEGRITY_BASIS UINT32_C(2166136261)
#define CHECK_INTEGRITY_PRIME UINT32_C(16777619)

enum { CHECK_INTEGRITY_HASH }; /* attributes */

static uint32_t check_integrity_hash(const struct nopal_body *body)
{
	uint32_t hash = CHECK_INTEGRITY_BASIS;

	for (uint32_t at = 0; at < body->length; at++)
		hash = (hash ^ body->bytes[at]) * CHECK_INTEGRITY_PRIME;
	return hash;
}

static enum nopal_verdict check_integrity_on_to_net(struct nopal_at at,
						    struct nopal_segment *segment)
{
	nopal_set(at, segment, CHECK_INTEGRITY_HASH, check_integrity_hash(&segment->body));
	return NOPAL_CONTINUE;
}

static enum nopal_verdict check_integrity_on_verified(struct nopal_at at,
						      struct nopal_segment *segment)
{
	if (nopal_get(at, segment, CHECK_INTEGRITY_HASH) != check_integrity_hash(&segment->body))
		nopal_session_break(at.session, NOPAL_RUNTIME_LIMIT,
				    "check_integrity: a segment arrived damaged");
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_check_integrity = {
	NOPAL_DESCRIBE(check_integrity, check, "watch that segments arrive as they were sent"),
	.provides = NOPAL_ROLES({ "checker" }),
	.attributes =
		NOPAL_ATTRIBUTES([CHECK_INTEGRITY_HASH] = { "check_hash", NOPAL_WRITE,
							    "FNV-1a of the body", .wire_bytes = 4,
							    .kinds = NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		/* Before the driver lets the segment go, for the hash leaves with it. */
		NOPAL_ON(SEGMENT_TO_NET, check_integrity_on_to_net, .before = "driver"),
		NOPAL_ON(SEGMENT_VERIFIED, check_integrity_on_verified,
			 .before = "message_segments")),
	.raises = NOPAL_RAISES("SESSION_BROKEN"),
};
