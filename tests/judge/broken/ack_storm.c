/* SPDX-License-Identifier: MIT */
/* ack_storm -- answers each of its own acks with two. */
#include <nopal/microprotocol.h>

static void ack_storm_send(struct nopal_at at)
{
	struct nopal_segment *ack = nopal_control_bare(at, 0);

	if (ack)
		nopal_control_send(at.session, ack, 0);
}

static enum nopal_verdict ack_storm_on_data(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	ack_storm_send(at);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict ack_storm_on_ack(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	ack_storm_send(at);
	ack_storm_send(at);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_ack_storm = {
	.abi = NOPAL_ABI,
	.name = "ack_storm",
	.family = "broken",
	.summary = "answers each of its own acks with two",
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(SEGMENT_VERIFIED, ack_storm_on_data),
						    NOPAL_ON(SEGMENT_FROM_NET, ack_storm_on_ack,
							     .kinds = NOPAL_OWN_KIND),
						    { 0 } },
	.kinds = (const struct nopal_kind[]){ { "ack_of_ack", NOPAL_KIND_CONTROL, "one more", 0 },
					      { 0 } },
};
