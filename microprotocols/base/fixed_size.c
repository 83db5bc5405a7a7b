/* SPDX-License-Identifier: MIT */
/*
 * fixed_size -- one segment for each message.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A.
 * Differs:   a message that one datagram cannot carry is refused when it is
 *            sent, not cut.
 */
#include "one_body.h"

struct fixed_size_parameters {
	int64_t mtu_bytes; /* the runtime reads it */
};

/* attributes */
enum {
	FIXED_SIZE_MESSAGE,
	FIXED_SIZE_SEGMENT,
	FIXED_SIZE_FIRST,
	FIXED_SIZE_NEXT,
};
enum { FIXED_SIZE_UNMET }; /* shared variables */

static enum nopal_verdict fixed_size_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	return one_body_send(at.session, message, nopal_body_max(at.session));
}

/* The message's place in the order is its message number, else its segment number. */
static enum nopal_verdict fixed_size_on_verified(struct nopal_at at, struct nopal_segment *segment)
{
	bool by_message = nopal_has(at, FIXED_SIZE_MESSAGE);
	bool numbered = by_message || nopal_has(at, FIXED_SIZE_SEGMENT);
	struct nopal_message *message;
	uint64_t first;

	if (nopal_segment_rise(at.session, segment))
		return NOPAL_CONTINUE;
	message = one_body_arriving(at.session, segment, segment->body);
	if (!message)
		return one_body_unkept(at.session, nopal_shared_get(at, FIXED_SIZE_UNMET));
	first = nopal_get(at, message, by_message ? FIXED_SIZE_MESSAGE : FIXED_SIZE_SEGMENT);
	nopal_set(at, message, FIXED_SIZE_FIRST, first);
	nopal_set(at, message, FIXED_SIZE_NEXT, numbered ? first + 1 : 0);
	nopal_raise_MSG_FROM_NET(at.session, message);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_fixed_size = {
	NOPAL_DESCRIBE(fixed_size, base, "one segment for each message"),
	.whole = true,
	.provides = NOPAL_ROLES({ "message_segments", true }),
	.promises = NOPAL_PROMISES({ NOPAL_MESSAGE_SIZE, NOPAL_REASSEMBLY, NOPAL_LOWERS, 0,
				     "a message is no longer than a segment" }),
	.parameters_size = sizeof(struct fixed_size_parameters),
	.parameters = NOPAL_PARAMETERS(
		/* every IPv4 host takes 576 bytes: RFC 791 */
		NOPAL_NUMBER(fixed_size, mtu_bytes, "mtu", SIZE, "1500B", "576B", "65535B",
			     "longest datagram with its IP and UDP headers")),
	.attributes =
		NOPAL_ATTRIBUTES([FIXED_SIZE_MESSAGE] = { "message_number", NOPAL_READ_OPTIONAL },
				 [FIXED_SIZE_SEGMENT] = { "segment_number", NOPAL_READ_OPTIONAL },
				 [FIXED_SIZE_FIRST] = { "order_first", NOPAL_WRITE,
							"first number that the message covers" },
				 [FIXED_SIZE_NEXT] = { "order_next", NOPAL_WRITE,
						       "one past the last number that it covers" }),
	.shared = NOPAL_SHARED(
		[FIXED_SIZE_UNMET] = { "reliability_unmet", NOPAL_READ_OPTIONAL, 0,
				       "1: a segment that cannot be kept breaks the session" }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(MSG_FROM_USER, fixed_size_on_from_user),
				   NOPAL_ON(SEGMENT_VERIFIED, fixed_size_on_verified)),
	.raises = NOPAL_RAISES("SEGMENT_FROM_USER", "MSG_FROM_NET", "SESSION_BROKEN"),
};
